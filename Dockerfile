# The service and its page: docker build -t maskdiff . && docker run -p 8000:8000 -v "$PWD/models:/models" maskdiff
FROM python:3.12-slim

# The processor build of torch: a graphics card is not needed to serve, and its libraries take several GB.
COPY pyproject.toml constraints.txt README.md LICENSE /source/
COPY src /source/src
RUN pip install --no-cache-dir --constraint /source/constraints.txt torch --index-url https://download.pytorch.org/whl/cpu \
    && pip install --no-cache-dir --constraint /source/constraints.txt "/source[serve]" \
    && rm -r /source \
    && useradd --create-home --uid 10001 maskdiff \
    && mkdir /models \
    && chown maskdiff /models

USER 10001
VOLUME /models
EXPOSE 8000

# Other machines reach the port, so a token is needed: its file is a secret that is mounted.
ENTRYPOINT ["maskdiff", "serve", "/models", "--host", "0.0.0.0", "--port", "8000"]
CMD ["--token-file", "/run/secrets/maskdiff-token"]
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health')"]
