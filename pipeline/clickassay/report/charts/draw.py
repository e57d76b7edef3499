"""The process that draws, started by `artist`: a line of JSON in, a picture out; it imports none of ours."""

import json
import struct
import sys
from typing import Any


def main() -> None:
    """Draw a request: ``[kind, specification, version, options]``; kind is svg or png."""
    sys.path.append(sys.argv[1])
    import vl_convert  # noqa: PLC0415 - found by now

    makers: dict[str, Any] = {"svg": vl_convert.vegalite_to_svg, "png": vl_convert.vegalite_to_png}
    for line in sys.stdin.buffer:
        kind, spec, version, options = json.loads(line)
        made: str | bytes = makers[kind](spec, vl_version=version, allowed_base_urls=[], **options)
        picture = made.encode() if isinstance(made, str) else made
        sys.stdout.buffer.write(struct.pack(">Q", len(picture)) + picture)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
