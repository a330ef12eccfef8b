package manager

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// endpoint is a net.Listener without a socket: what connects to it gets a net.Pipe.
type endpoint struct {
	address string
	dialed  chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newEndpoint(address string) *endpoint {
	return &endpoint{address: address, dialed: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (e *endpoint) Accept() (net.Conn, error) {
	select {
	case c := <-e.dialed:
		return c, nil
	case <-e.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (e *endpoint) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

// Addr implements net.Listener.
func (e *endpoint) Addr() net.Addr { return address(e.address) }

// client returns a client of what listens, and what ends its connections.
func (e *endpoint) client() (*http.Client, func()) {
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case e.dialed <- far:
			return near, nil
		case <-e.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}
	return &http.Client{Transport: t}, t.CloseIdleConnections
}

// address is that of an endpoint.
type address string

// Network implements net.Addr.
func (address) Network() string { return "pipe" }

func (a address) String() string { return string(a) }
