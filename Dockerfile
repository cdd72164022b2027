# The images that hack/pods/images makes, for who has a builder: of the operator by
# default, of another program with --build-arg PROGRAM. The programs are built
# before: make build for the operator, docs/images.md says how the others.
ARG PROGRAM=operator

FROM scratch AS base
USER 65532:65532
WORKDIR /
LABEL org.opencontainers.image.source="https://github.com/servicebulkhead/servicebulkhead"
LABEL org.opencontainers.image.licenses="Apache-2.0"

FROM base AS operator
LABEL org.opencontainers.image.title="servicebulkhead-operator"
LABEL org.opencontainers.image.description="The operator of ServiceBulkhead"
COPY bin/operator /operator
ENTRYPOINT ["/operator"]

FROM base AS shop
LABEL org.opencontainers.image.title="servicebulkhead-shop"
LABEL org.opencontainers.image.description="The example application of ServiceBulkhead"
COPY bin/shop /shop
ENTRYPOINT ["/shop"]

FROM base AS payments
LABEL org.opencontainers.image.title="servicebulkhead-payments"
LABEL org.opencontainers.image.description="The slow service of ServiceBulkhead's demo"
COPY bin/payments /payments
ENTRYPOINT ["/payments"]

FROM base AS generator
LABEL org.opencontainers.image.title="servicebulkhead-load"
LABEL org.opencontainers.image.description="The load generator of ServiceBulkhead's demo"
COPY bin/generator /generator
ENTRYPOINT ["/generator"]

FROM ${PROGRAM}
