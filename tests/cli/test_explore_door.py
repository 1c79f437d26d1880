"""The door of the local page: what a browser sends gets in, what an attacker sends does not."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_page import LocalPage, fields

SECRET_NAME = "geheim_tabelle"
FORM = "application/x-www-form-urlencoded"
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
ALWAYS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Iterator[LocalPage]:
    folder = tmp_path_factory.mktemp("door")
    (folder / f"{SECRET_NAME}.csv").write_text("zip,ill\n" + "02138,flu\n02139,x\n" * 20)
    (folder / "out").mkdir()
    with LocalPage(folder, f"{SECRET_NAME}.csv", "--output", "out") as opened:
        yield opened


def status(answer: bytes) -> int:
    found = re.match(rb"HTTP/1[.]0 ([0-9]{3}) ", answer)
    assert found, answer[:200]
    return int(found[1])


def headers(answer: bytes) -> dict[str, str]:
    lines = answer.split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return dict(line.split(": ", 1) for line in lines)


def told_nothing(answer: bytes) -> bool:
    """Whether an answer has no word of the table."""
    return not any(word in answer.lower() for word in (SECRET_NAME.encode(), b"zip", b"02138"))


ASKED = "GET /risk?role.zip=qi HTTP/1.1"


def test_a_browser_gets_a_page(page):
    own = ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: navigate", "Accept: text/html"]
    answer = page.raw(page.request(ASKED, *own))
    assert status(answer) == 200
    assert b"How easily is someone found?" in answer
    assert status(page.raw(page.request(ASKED, "Sec-Fetch-Site: none"))) == 200
    assert status(page.raw(page.request(ASKED, host=f"localhost:{page.port}"))) == 200


@pytest.mark.parametrize(
    "path",
    ["/columns", "/risk?role.zip=qi", "/levels?role.zip=qi", "/nothing", "/?token=x", "/save",
     "/kanon.yml?role.zip=qi", "/risk?x=1", "/"],
)  # fmt: skip
def test_every_answer_has_the_policy(page, path):
    for answer in (
        page.raw(page.request(f"GET {path} HTTP/1.1")),
        page.raw(page.request(f"PUT {path} HTTP/1.1")),
        page.raw(page.request(f"GET {path} HTTP/1.1", host="evil.example")),
    ):
        sent = headers(answer)
        assert {name: sent.get(name) for name in ALWAYS} == ALWAYS
        assert "script-src" not in str(sent)
        assert sent["Server"].strip() == "kanon-sql"


def test_there_is_no_script_on_any_page(page):
    for path in ("/columns", "/risk", "/levels", "/evidence"):
        _, text = page.go(f"{path}?role.zip=qi&role.ill=sensitive&k=5&l=2")
        assert "<script" not in text
        assert " on" not in re.findall(r"<[^>]*>", text)
        assert "http-equiv" not in text


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "", "[::1]:{port}", "0.0.0.0:{port}",
     "127.0.0.1:{port}.evil.example", "evil.example:{port}", "127.0.0.1:{port}, evil.example"],
)  # fmt: skip
def test_a_rebound_name_gets_nothing(page, host):
    answer = page.raw(page.request(ASKED, host=host.format(port=page.port)))
    assert status(answer) == 421
    assert told_nothing(answer)


def test_host_is_sent_once(page):
    again = f"Host: 127.0.0.1:{page.port}"
    assert status(page.raw(page.request(ASKED, again))) == 421
    assert status(page.raw(page.request(ASKED, "Host: evil.example"))) == 421
    assert status(page.raw(f"{ASKED}\r\nCookie: {page.cookie}\r\n\r\n".encode())) == 421
    assert status(page.raw(b"GET /columns\r\n\r\n")) == 421


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.1:{port}/columns", "//evil.example/columns", "///columns", "columns", "*",
     "http://evil.example/", "/\xe9"],
)  # fmt: skip
def test_a_whole_address_in_the_request_line_is_refused(page, target):
    answer = page.raw(page.request(f"GET {target.format(port=page.port)} HTTP/1.1"))
    assert status(answer) == 400
    assert told_nothing(answer)


def test_without_the_cookie_there_is_no_word_of_the_table(page):
    for cookie in ("", f"kanon_sql_{page.port}=x", f"other={page.cookie.split('=', 1)[1]}",
                   f"{page.cookie}; {page.cookie.split('=')[0]}=x"):  # fmt: skip
        request = page.request(ASKED).replace(page.cookie.encode(), cookie.encode())
        answer = page.raw(request)
        assert status(answer) == 403
        assert told_nothing(answer)


@pytest.mark.parametrize("token", ["", "x", "%FF", "é", "x" * 20_000])
def test_another_token_opens_nothing(page, token):
    answer = page.raw(page.request(f"GET /?token={token} HTTP/1.1"))
    assert status(answer) in (400, 403)
    assert b"Set-Cookie" not in answer
    assert told_nothing(answer)


def test_the_token_gives_a_cookie_of_another_secret(page):
    answer = page.raw(page.request(f"GET /?token={page.token} HTTP/1.1", "Sec-Fetch-Site: none"))
    sent = headers(answer)
    assert status(answer) == 303
    assert sent["Location"] == "/"
    name, _, rest = sent["Set-Cookie"].partition("=")
    assert name == f"kanon_sql_{page.port}"
    assert rest.endswith("; HttpOnly; SameSite=Strict; Path=/")
    assert page.token not in sent["Set-Cookie"]
    assert len(page.token) >= 43


@pytest.mark.parametrize(
    "sent",
    ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Sec-Purpose: prefetch",
     "Sec-Purpose: prefetch;prerender"],
)  # fmt: skip
def test_another_site_and_a_prefetch_get_nothing(page, sent):
    for line in (ASKED, f"GET /?token={page.token} HTTP/1.1"):
        answer = page.raw(page.request(line, sent))
        assert status(answer) == 403
        assert told_nothing(answer)


# --- forms ----------------------------------------------------------------------------------


@pytest.fixture
def form(page) -> dict[str, str]:
    _, text = page.go("/evidence?role.zip=qi&role.ill=sensitive&k=5")
    return fields(text, "/save") | {"overwrite": "1"}


def test_our_own_form_saves(page, form):
    response, text = page.post(form, Sec_Fetch_Site="same-origin")
    assert response.status == 200
    assert "Counted anew from the records: the same figures." in text


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "https://127.0.0.1:{port}"}, 403),
        ({"Origin": "http://localhost:{port}"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "multipart/form-data"}, 415),
        ({"Content_Length": "64001"}, 413),
        ({"Content_Length": "x"}, 400),
        ({"Content_Length": "-1"}, 400),
        ({"Cookie": "x=y"}, 403),
    ],
)
def test_a_form_of_another_page_is_refused(page, form, sent, expected):
    headers = {name: value.format(port=page.port) for name, value in sent.items()}
    response, _ = page.post(form, **headers)
    assert response.status == expected


def test_a_form_without_origin_secret_or_length_is_refused(page, form):
    body = "question=role.zip%3Dqi"
    kind = f"Content-Type: {FORM}"
    origin = f"Origin: http://127.0.0.1:{page.port}"
    length = f"Content-Length: {len(body)}"

    def sent(*headers: str) -> int:
        request = page.request("POST /save HTTP/1.1", *headers) + body.encode()
        return status(page.raw(request))

    assert sent(kind, length) == 403
    assert sent(kind, origin) == 411
    assert sent(kind, origin, "Transfer-Encoding: chunked") == 411
    assert sent(kind, origin, length) == 403
    for secret in ("", "x", "é"):
        response, _ = page.post({**form, "secret": secret})
        assert response.status == 403


@pytest.mark.parametrize("extra", ["path", "output", "../x", "spec.x"])
def test_a_form_names_no_file(page, form, extra):
    response, _ = page.post({**form, extra: "/tmp/x"})
    assert response.status == 400


def test_a_form_of_many_or_repeated_fields_is_refused(page, form):
    many = {**form, **{f"x{number}": "" for number in range(5_000)}}
    assert page.post(many)[0].status in (400, 413)
    assert page.post({**form, **{f"x{number}": "" for number in range(100)}})[0].status == 400
    body = f"secret={form['secret']}&secret=x&question=role.zip%3Dqi"
    answer = page.raw(
        page.request("POST /save HTTP/1.1", f"Content-Type: {FORM}",
                     f"Origin: http://127.0.0.1:{page.port}", f"Content-Length: {len(body)}")
        + body.encode()
    )  # fmt: skip
    assert status(answer) == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "ZAP"])
def test_other_methods_are_refused(page, method):
    answer = page.raw(page.request(f"{method} /columns HTTP/1.1"))
    assert status(answer) in (405, 501)
    assert told_nothing(answer)
    assert method.encode() not in answer.split(b"\r\n\r\n", 1)[0]


@pytest.mark.parametrize(
    ("path", "more"),
    [("/columns", {}), ("/risk?role.zip=qi", {}), ("/kanon.yml?role.zip=qi", {}), ("/risk?k=", {}),
     ("/columns?k=", {}), ("/nothing", {}), ("/save", {}), ("/", {}), ("//x", {}),
     ("/columns", {"host": "evil.example"}), ("/columns", {"site": "cross-site"})],
)  # fmt: skip
def test_head_is_get_without_a_body(page, path, more):
    site = f"Sec-Fetch-Site: {more.get('site', 'none')}"
    got, asked = (
        page.raw(page.request(f"{method} {path} HTTP/1.1", site, host=more.get("host")))
        for method in ("GET", "HEAD")
    )
    assert asked.endswith(b"\r\n\r\n")
    assert asked.count(b"\r\n\r\n") == 1
    assert status(asked) == status(got)
    left_out = ("Date", "Content-Length", "Content-Disposition")
    sent, same = ({name: value for name, value in headers(each).items() if name not in left_out}
                  for each in (asked, got))  # fmt: skip
    assert sent == same


def test_head_opens_nothing_without_the_cookie(page):
    request = page.request("HEAD /columns HTTP/1.1").replace(page.cookie.encode(), b"x=y")
    assert status(page.raw(request)) == 403


def test_a_page_takes_no_form_and_saving_no_link(page):
    assert page.ask("/save")[0].status == 405
    assert page.ask("/save")[0].getheader("Allow") == "POST"
    for path in ("/columns", "/risk", "/"):
        origin = f"http://127.0.0.1:{page.port}"
        response, _ = page.ask(path, "POST", "", Origin=origin, Content_Type=FORM)
        assert (response.status, response.getheader("Allow")) == (405, "GET, HEAD")


# --- sizes and slowness ---------------------------------------------------------------------


def test_a_long_address_is_refused(page):
    for length in (32_001, 60_000, 300_000):
        answer = page.raw(page.request(f"GET /columns?k={'1' * length} HTTP/1.1"))
        assert status(answer) == 414
    assert status(page.raw(page.request(f"GET /columns?k={'1' * 31_000} HTTP/1.1"))) == 400


def test_many_headers_and_fields_are_refused(page):
    many = [f"X-{number}: y" for number in range(500)]
    assert status(page.raw(page.request(ASKED, *many))) == 431
    text = "&".join(f"a{number}=" for number in range(5_000))
    assert status(page.raw(page.request(f"GET /columns?{text[:31_000]} HTTP/1.1"))) == 400


def test_a_refusal_repeats_nothing_of_the_request(page):
    for path in (
        "/columns?role.zap=qi",
        "/zap",
        "/risk?role.zip=zap",
        "/columns?hierarchy.zip=/zap",
    ):
        answer = page.raw(page.request(f"GET {path} HTTP/1.1"))
        assert status(answer) in (400, 404)
        assert b"zap" not in answer
        assert SECRET_NAME.encode() not in answer


def test_a_slow_socket_holds_nothing_up(page):
    slow = []
    for _ in range(8):
        connection = socket.create_connection(("127.0.0.1", page.port), timeout=5)
        connection.sendall(b"GET /columns HTT")
        slow.append(connection)
    post = socket.create_connection(("127.0.0.1", page.port), timeout=5)
    post.sendall(
        page.request("POST /save HTTP/1.1", f"Origin: http://127.0.0.1:{page.port}",
                     f"Content-Type: {FORM}", "Content-Length: 60000") + b"a="
    )  # fmt: skip
    started = time.monotonic()
    page.go("/columns?role.zip=qi")
    assert time.monotonic() - started < 3
    for connection in (*slow, post):
        connection.close()


def test_a_request_has_thirty_seconds_to_be_sent(monkeypatch, tmp_path):
    """In this process, with a shorter time."""
    import threading

    from kanon_sql.engines.run_options import RunOptions
    from kanon_sql.explore import door as doors
    from kanon_sql.explore.table import ExploredTable
    from kanon_sql.explore.turns import Turns
    from kanon_sql.question.table import TableSpec

    assert doors.SECONDS_TO_SEND == 30
    monkeypatch.setattr(doors, "SECONDS_TO_SEND", 0.5)
    file = tmp_path / "t.csv"
    file.write_text("zip\n1\n")
    turns = Turns()
    table = ExploredTable(TableSpec(source=str(file)), RunOptions(), turns)
    turns.ask(table.start).value()
    door = doors.Door(0, table, turns)
    threading.Thread(target=door.serve_forever, daemon=True).start()
    try:
        with socket.create_connection(("127.0.0.1", door.port), timeout=5) as connection:
            started = time.monotonic()
            answer = b""
            for byte in b"GET /columns HTTP/1.1\r\nHost":
                try:
                    connection.sendall(bytes([byte]))
                except ConnectionError:
                    break
                time.sleep(0.1)
            while more := connection.recv(4096):
                answer += more
        assert b" 408 " in answer
        assert time.monotonic() - started < 5
    finally:
        door.shutdown()
        door.server_close()
        turns.end(table.close, 2)


def test_it_listens_on_this_machine_alone(page):
    port = f"{page.port:04X}"
    listening = [
        line.split()[1]
        for file in ("/proc/net/tcp", "/proc/net/tcp6")
        if Path(file).exists()
        for line in Path(file).read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{port}")
    ]
    assert listening == [f"0100007F:{port}"]


def test_nothing_is_logged(tmp_path):
    (tmp_path / "t.csv").write_text("zip\n1\n2\n")
    with LocalPage(tmp_path, "t.csv") as page:
        page.go("/risk?role.zip=qi")
        page.raw(b"\x00\xff\r\n\r\n")
        page.ask("/nothing")
        code, _, said = page.end()
    assert (code, said) == (0, "")
