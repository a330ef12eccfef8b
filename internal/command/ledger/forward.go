package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// forward forwards a port of the loopback interface to that of the leader, through the API server as kubectl port-forward does, until ctx ends. It
// returns the address.
func forward(ctx context.Context, config *rest.Config, client kubernetes.Interface, to leader) (address string, err error) {
	dialer, err := dialerTo(config, client, to)
	if err != nil {
		return "", fmt.Errorf("connecting to the leader: %w", err)
	}
	ready, ended := make(chan struct{}), make(chan error, 1)
	var problems bytes.Buffer
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{"0:" + to.port}, ready, io.Discard, &problems)
	if err != nil {
		return "", fmt.Errorf("connecting to the leader: %w", err)
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		if err == nil {
			err = errors.New(strings.TrimSpace("the connection has ended " + problems.String()))
		}
		return "", fmt.Errorf("forwarding a port to pod %q in namespace %q, which needs the permission to create pods/portforward there: %w", to.pod, to.namespace, err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", fmt.Errorf("connecting to the leader: %w", err)
	}
	scheme := "http"
	if to.public {
		scheme = "https"
	}
	return fmt.Sprintf("%s://127.0.0.1:%d", scheme, ports[0].Local), nil
}

// dialerTo connects to the port forwarding of a pod: by WebSocket, or by SPDY where the API server or a proxy on the way does not know that.
func dialerTo(config *rest.Config, client kubernetes.Interface, to leader) (httpstream.Dialer, error) {
	target := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(to.namespace).Name(to.pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	newer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(target, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}
