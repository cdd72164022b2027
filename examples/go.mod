module github.com/servicebulkhead/servicebulkhead/examples

go 1.26.0

require (
	github.com/servicebulkhead/servicebulkhead/pkg v0.0.0
	github.com/servicebulkhead/servicebulkhead/pkg/agent/agentgrpc v0.0.0
	google.golang.org/grpc v1.85.0
)

require (
	github.com/fsnotify/fsnotify v1.10.1 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/servicebulkhead/servicebulkhead/pkg => ../pkg
	github.com/servicebulkhead/servicebulkhead/pkg/agent/agentgrpc => ../pkg/agent/agentgrpc
)
