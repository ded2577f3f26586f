"""Types: what they say about themselves, how they end, and what notebooks show."""
import base64
import threading
import xml.etree.ElementTree as tree

import packwright
import pytest
from packwright import _install


def test_facts():
    t = packwright.Type("resized(-8 96)[hvec(3 1 24)[ctg(2)[double]]]")
    assert (t.size, t.lb, t.extent, t.true_lb, t.true_extent, t.blocks) == (48, -8, 96, 0, 64, 3)
    assert t.iov() == [(0, 16), (24, 16), (48, 16)]
    assert t.iov(2, first=2, limit=2) == [(48, 16), (96, 16)]
    assert t.iov(2, first=6) == [] and t.iov(0) == []


def test_blocks_below_zero():
    assert packwright.Type("hvec(2 1 -8)[double]").iov() == [(0, 8), (-8, 8)]


def test_equal_layouts_have_equal_hashes():
    one, other = packwright.Type("vec(4 2 8)[double]"), packwright.Type("hvec(4 1 64)[ctg(16)[byte]]")
    assert one.hash == other.hash and len(one.hash) == 32
    assert one.hash != packwright.Type("vec(4 2 9)[double]").hash


def test_texts_read_back():
    t = packwright.Type("idx(0,2 9,1 4,3)[int]")
    assert packwright.Type(t.text).hash == t.hash
    assert packwright.Type.from_ir(t.ir).hash == t.hash


def test_one_of_several():
    text = "a = vec(2 1 2)[int]\nb = ctg(3)[double]"
    assert packwright.Type(text, "b").size == 24
    with pytest.raises(packwright.Error):
        packwright.Type(text, "c")


def test_errors_have_the_library_s_text():
    with pytest.raises(packwright.Error, match="line 1, column 8: expected a number") as caught:
        packwright.Type("vec(4 2")
    assert caught.value.status == packwright.Status.INVALID


def test_a_text_is_taken_whole():
    with pytest.raises(ValueError, match="null character"):
        packwright.Type("ctg(4)[int]\0[")
    with pytest.raises(TypeError, match="expected a str, not int"):
        packwright.Type(3)


def test_closed():
    with packwright.Type("ctg(4)[int]") as t:
        assert t.size == 16
    with pytest.raises(ValueError, match="closed"):
        t.size
    with pytest.raises(ValueError, match="closed"):
        t.pack(bytes(16))
    t.close()
    assert "closed" in repr(t) and t._repr_svg_() is None


def test_a_move_outlives_close():
    """Moves in one thread, and close in another: each move is whole or a ValueError."""
    memory = bytes(range(256)) * 4096
    for _ in range(20):
        t = packwright.Type("vec(262144 2 4)[byte]")
        began, results = threading.Event(), []

        def mover():
            try:
                while True:
                    results.append(t.pack(memory))
                    began.set()
            except ValueError:
                pass

        thread = threading.Thread(target=mover)
        thread.start()
        began.wait()
        t.close()
        thread.join()
        expected = bytes(byte for byte in range(256) if byte % 4 < 2) * 4096
        assert all(result == expected for result in results[:2])


def test_threads_share_a_type():
    t = packwright.Type("vec(1000 1 2)[int]")
    memory = bytes(range(250)) * 32
    expected = t.pack(memory)
    wrong = []

    def work():
        for _ in range(50):
            if t.pack(memory) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_pictures():
    t = packwright.Type("vec(4 2 8)[double]")
    assert tree.fromstring(t._repr_svg_()).tag.endswith("svg")
    page = t._repr_html_()
    picture = page.split("base64,")[1].split('"')[0]
    assert base64.b64decode(picture).decode() == t._repr_svg_()
    assert "extent 208" in page


def test_a_picture_has_the_user_s_text():
    """The canonical form has blocks of bytes, and no names."""
    both = "N = 4\nface = MPI_Type_vector(N, 2, 8, MPI_DOUBLE)\nedge = int"
    picture = packwright.Type(both, "face")._repr_svg_()
    assert "face = MPI_Type_vector(N, 2, 8, MPI_DOUBLE)" in picture and "a cell 8" in picture
    assert "vec(4 " in packwright.Type.from_ir(packwright.Type(both, "face").ir)._repr_svg_()


def test_without_the_command_there_is_text(monkeypatch):
    t = packwright.Type("vec(4 2 8)[double]")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(packwright.NotInstalled):
        _install.command()
    assert t._repr_svg_() is None and t._repr_html_() is None
    assert repr(t) == f"packwright.Type({t.text!r})"


def test_options_come_before_the_first_move():
    packwright.Type("ctg(4)[int]").pack(bytes(16))
    with pytest.raises(packwright.Error) as caught:
        packwright.configure(jit="off")
    assert caught.value.status == packwright.Status.INVALID
    with pytest.raises(ValueError, match="jit is 'on'"):
        packwright.configure(jit="on")
