"""Store the result picture of the first page as book/images/result.png, for the read-me.

``python tools/picture.py`` takes it from the stored outputs of book/index.ipynb, so the two cannot differ.
"""

import base64
import json

from refresh import BOOK

PICTURE = BOOK / "images" / "result.png"


def first_picture(notebook=BOOK / "index.ipynb"):
    """The bytes of the first PNG among the outputs of a notebook."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                return base64.b64decode(output["data"]["image/png"])
    raise SystemExit(f"{notebook} shows no picture")


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(first_picture())
    print(f"{PICTURE}: {PICTURE.stat().st_size / 1000:.0f} kB")
