"""What someone writes who has the wheel alone: `.ci/run` checks its types strictly against that."""

import kanon_sql as kanon

result: kanon.AuditResult = kanon.audit("p.csv", ["zip", "age"], sensitive="disease", k=5)
for table in result.tables:
    for check in table.checks:
        print(table.name, table.summary.classes, check.model, check.holds, check.to_dict())
if not result.holds:
    release: kanon.AnonymizationResult = kanon.anonymize("p.csv", ["zip", "age"], k=5)
    print(len(release.tables), kanon.TableSpec(source="p.csv", quasi_identifiers=["zip"]).source)
