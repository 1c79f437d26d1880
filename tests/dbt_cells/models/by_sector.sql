{{ kanon_sql.published(
    ref("entries"), by=["region", "sector"], value="turnover", contributor="firm",
    p_percent=25, dominance=[[1, 50], [2, 60]], margins=[["sector"], []]
) }}
