{{ kanon_sql.published(
    ref("entries"), by=["region", "sector"], value="turnover", contributor="firm",
    n=10, dominance=[[2, 67]], total_label="Total"
) }}
