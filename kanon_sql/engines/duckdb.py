"""Stand-in."""
from __future__ import annotations
from typing import Any
import duckdb
from kanon_sql.engines.base import Column, Table
class DuckDBEngine:
    name="duckdb"; dialect="duckdb"
    def __init__(self, *, database=None, connection=None, memory_limit=None, threads=None, delimiter=None, null_strings=()):
        self.con = connection.cursor() if connection is not None else duckdb.connect(); self.i=0
        if threads: self.con.execute(f"set threads={threads}")
    def table(self, target: Any) -> Table:
        if isinstance(target,(str,__import__("pathlib").Path)):
            t = f"read_csv('{target}', all_varchar=true)" if str(target).endswith('csv') else f"read_parquet('{target}')" if str(target).endswith("parquet") else target; target=str(target)
            name=target.split('/')[-1]
        else:
            self.i+=1; t=name=f"kanon_input_{self.i}"; self.con.register(t,target)
        c=self.con.execute(f"describe select * from {t}").fetchall()
        few=set()
        if 'read_parquet' in t:
            few={r[0] for r in self.con.execute(f"select path_in_schema from parquet_metadata('{target}') group by 1 having bool_and(encodings like '%DICT%' and data_page_offset-dictionary_page_offset<4096)").fetchall()}
        return Table(name,t,tuple(Column(r[0],r[1],r[0] in few) for r in c))
    def query(self, sql):
        c=self.con.execute(sql); n=[d[0] for d in c.description]; return [dict(zip(n,r)) for r in c.fetchall()]
    def cancel(self): self.con.interrupt()
    def close(self): self.con.close()
