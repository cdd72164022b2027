// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
)

// example is one of the programs, and what a test must know of it.
type example struct {
	name string
	// upstream starts what it calls.
	upstream func(*testing.T, *upstream) (target string)
	connect  func(*testing.T, *program) client
	// passed are the bulkheads that each request passes.
	passed []string
	// closed is how many dependencies it registers.
	closed int
	// leavesSignals to the agent, and does not catch them itself.
	leavesSignals bool
}

var examples = []example{
	{"signalcontext", serveHTTP, connectHTTP, []string{"upstream"}, 0, false},
	{"httpserver", serveHTTP, connectHTTP, []string{"requests", "upstream"}, 1, true},
	{"grpcserver", serveGRPC, connectGRPC, []string{"requests", "upstream"}, 1, true},
}

func httpserver() example { return examples[1] }

// client is how a test speaks to an example.
type client interface {
	// buy makes a request.
	buy(context.Context) error
	// ready is the readiness probe.
	ready(context.Context) bool
}

type httpClient struct {
	url           string
	client, probe *http.Client
}

func connectHTTP(t *testing.T, p *program) client {
	t.Helper()
	kept := &http.Transport{MaxIdleConnsPerHost: 1000}
	t.Cleanup(kept.CloseIdleConnections)
	return &httpClient{
		url: "http://" + p.address, client: &http.Client{Transport: kept},
		probe: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, // as the kubelet's
	}
}

func (c *httpClient) buy(ctx context.Context) error {
	_, err := post(ctx, c.client, c.url+"/buy")
	return err
}

func (c *httpClient) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	response, err := c.probe.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// post makes a request that net/http does not repeat by itself, and says whether
// the server has asked to use the connection no more.
func post(ctx context.Context, client *http.Client, url string) (last bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, http.NoBody)
	if err != nil {
		return false, err
	}
	response, err := client.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return response.Close, err
}

type grpcClient struct {
	shop   pb.TestServiceClient
	health healthpb.HealthClient
}

func connectGRPC(t *testing.T, p *program) client {
	t.Helper()
	conn, err := grpc.NewClient(p.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &grpcClient{pb.NewTestServiceClient(conn), healthpb.NewHealthClient(conn)}
}

func (c *grpcClient) buy(ctx context.Context) error {
	_, err := c.shop.UnaryCall(ctx, &pb.SimpleRequest{})
	return err
}

func (c *grpcClient) ready(ctx context.Context) bool {
	answer, err := c.health.Check(ctx, &healthpb.HealthCheckRequest{})
	return err == nil && answer.GetStatus() == healthpb.HealthCheckResponse_SERVING
}
