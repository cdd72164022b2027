# make build first: the binary is static and needs nothing else.
FROM scratch
COPY bin/operator /operator
USER 65532:65532
ENTRYPOINT ["/operator"]
