# clickassay as a command: docker run --rm -v "$PWD:/work" clickassay run --searches … (no test builds this image)
FROM python:3.13-slim AS build
WORKDIR /source
COPY requirements/build.txt requirements/build.txt
RUN pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY . .
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheel .

FROM python:3.13-slim
COPY requirements/run.txt /tmp/run.txt
COPY --from=build /wheel /tmp/wheel
RUN pip install --no-cache-dir --require-hashes -r /tmp/run.txt \
  && pip install --no-cache-dir --no-deps /tmp/wheel/*.whl \
  && rm -r /tmp/run.txt /tmp/wheel \
  && useradd --create-home analyst
USER analyst
WORKDIR /work
ENTRYPOINT ["clickassay"]
