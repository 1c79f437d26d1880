{{ kanon_sql.published(ref("entries"), by=["region", "sector"], n=20, total_label=none, count="n") }}
