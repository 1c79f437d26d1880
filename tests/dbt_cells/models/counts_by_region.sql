{{ kanon_sql.published(ref("ledger"), by=["region", "sector"], n=20, total_label=none, count="n") }}
