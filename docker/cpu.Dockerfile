# yiwen on processors: train, translate, serve, notebooks, TensorBoard.
#   docker build -f docker/cpu.Dockerfile -t yiwen:cpu .
#   docker run --rm yiwen:cpu                        # the demo
FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv ca-certificates fonts-noto-cjk && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/yiwen
ENV PATH=/opt/yiwen/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENV YIWEN_RUNS=/runs
COPY . /src
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN pip install --no-cache-dir --constraint /src/constraints.txt --extra-index-url $TORCH_INDEX "/src[train,serve,notebooks]"
RUN useradd --create-home --uid 1000 yiwen && mkdir /runs && chown yiwen /runs
USER yiwen
WORKDIR /home/yiwen
VOLUME /runs
EXPOSE 5000 6006 7000
ENTRYPOINT ["yiwen"]
CMD ["demo"]
