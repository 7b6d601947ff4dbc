# yiwen on NVIDIA GPUs. The torch wheels of PyPI bring CUDA with them; the host needs the driver and the container toolkit.
#   docker build -f docker/gpu.Dockerfile -t yiwen:gpu .
#   docker run --rm --gpus all yiwen:gpu
FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv ca-certificates fonts-noto-cjk && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/yiwen
ENV PATH=/opt/yiwen/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENV YIWEN_RUNS=/runs
COPY . /src
RUN pip install --no-cache-dir --constraint /src/constraints.txt "/src[train,serve,notebooks]"
RUN useradd --create-home --uid 1000 yiwen && mkdir /runs && chown yiwen /runs
USER yiwen
WORKDIR /home/yiwen
VOLUME /runs
EXPOSE 5000 6006 7000
ENTRYPOINT ["yiwen"]
CMD ["demo"]
