// Package controlplane runs a Kubernetes control plane with simulated nodes in the process: an API server in memory on a loopback port, a scheduler,
// the controllers of workloads, and kubelets.
//
// It is for demonstrations and experiments. The packages that it starts say what they leave out; everything is gone when it stops.
package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"github.com/karpenter-anew/karpenter/embedded/apiserver/front"
	"github.com/karpenter-anew/karpenter/embedded/apiserver/registry"
	"github.com/karpenter-anew/karpenter/embedded/kubelet"
	"github.com/karpenter-anew/karpenter/embedded/scheduler"
	"github.com/karpenter-anew/karpenter/embedded/view"
	"github.com/karpenter-anew/karpenter/embedded/workloads"
)

// Version is the version of Kubernetes whose API is served.
const Version = "v1.37.2"

const (
	// history is how many changes a watch can go back.
	history = 10_000
	// pause is the least time between two rounds of the components: what arrives meanwhile is dealt with at once.
	pause = 5 * time.Millisecond
	// retry is the time until components try again after an error.
	retry = 100 * time.Millisecond
	// maxRounds bounds the rounds without a pause for requests.
	maxRounds = 100
	// drain is how long requests may take after the end.
	drain = 2 * time.Second
)

// ControlPlane is a running control plane.
type ControlPlane struct {
	// URL is where the API server listens.
	URL string

	token string
	// authority is the certificate, in PEM form, that signs that of the server.
	authority []byte
	server    *front.Server
	http      *http.Server
	wake      chan struct{}
	stop      context.CancelFunc
	// done is closed when both goroutines have ended; err is set before.
	done chan struct{}
	err  error
}

// Start starts a control plane that listens on a loopback address such as 127.0.0.1:0. It runs until the context ends or Stop is called.
func Start(ctx context.Context, listen string) (*ControlPlane, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("the address %q: %w; want one such as 127.0.0.1:0", listen, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("the address %q is not on the loopback interface: the cluster is for this host only", listen)
	}
	r, err := registry.New(registry.Options{
		Now: time.Now, UID: uuid.NewUUID, Suffix: func() string { return utilrand.String(5) }, History: history,
		GenericWorkload: true,
	})
	if err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	// Clients send their token over TLS only.
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("choosing a token: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("starting the API server: %w", err)
	}
	c := &ControlPlane{URL: "https://" + listener.Addr().String(), token: hex.EncodeToString(secret), authority: certificate, wake: make(chan struct{}, 1), done: make(chan struct{})}
	c.server = front.New(r, front.Options{
		Version:    version.Info{Major: "1", Minor: "37", GitVersion: Version},
		AfterWrite: func(*registry.Registry) error { c.notify(); return nil },
	})
	c.http = &http.Server{
		Handler: c.authenticated(c.server), ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13},
	}
	ctx, c.stop = context.WithCancel(ctx)
	go c.run(ctx, listener, view.New(r))
	return c, nil
}

// authenticated lets only clients with the token through: others on the host have no business here.
func (c *ControlPlane) authenticated(next http.Handler) http.Handler {
	want := []byte("Bearer " + c.token)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if subtle.ConstantTimeCompare([]byte(req.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, req)
	})
}

// notify wakes the components.
func (c *ControlPlane) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run serves requests and lets the components act until the context ends or one of both fails.
func (c *ControlPlane) run(ctx context.Context, listener net.Listener, v *view.View) {
	defer close(c.done)
	served := make(chan error, 1)
	go func() { served <- c.http.ServeTLS(listener, "", "") }()
	failed := c.act(ctx, v, served)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := c.http.Shutdown(ending); err != nil {
		_ = c.http.Close() // watches are still open
	}
	c.err = failed
}

// act lets the components take their steps whenever something has changed.
func (c *ControlPlane) act(ctx context.Context, v *view.View, served <-chan error) error {
	kubelets, placer := &kubelet.Kubelets{}, &scheduler.Scheduler{}
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			return fmt.Errorf("the API server ended: %w", err)
		case <-c.wake:
		case <-due.C:
		}
		var next time.Time
		err := c.server.Do(func(r *registry.Registry) (err error) {
			next, err = settle(ctx, r, v, kubelets, placer)
			return err
		})
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil && !transient(err) {
			return fmt.Errorf("the components of the cluster failed: %w", err)
		}
		if err != nil {
			next = time.Now().Add(retry)
		}
		if !next.IsZero() {
			due.Reset(max(pause, time.Until(next)))
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// transient: the error is about an object that changed while a component took its step, which the next step sees.
func transient(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
}

// settle repeats the steps of all components until none writes. It returns when something will be due.
func settle(ctx context.Context, r *registry.Registry, v *view.View, kubelets *kubelet.Kubelets, placer *scheduler.Scheduler) (next time.Time, err error) {
	for range maxRounds {
		before := r.Revision()
		if _, err := r.Collect(); err != nil {
			return next, err
		}
		if err := workloads.Step(v); err != nil {
			return next, err
		}
		if next, err = kubelets.Step(v); err != nil {
			return next, err
		}
		if err := placer.Step(ctx, v); err != nil {
			return next, err
		}
		if r.Revision() == before {
			return next, nil
		}
	}
	return r.Now(), nil
}

// Kubeconfig is the configuration of a client, as a kubeconfig file has it.
func (c *ControlPlane) Kubeconfig() ([]byte, error) {
	const name = "karpenter-demo"
	config := clientcmdapi.Config{
		CurrentContext: name,
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: c.URL, CertificateAuthorityData: c.authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: c.token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: "default"}},
	}
	text, err := clientcmd.Write(config)
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return text, nil
}

// Done is closed when the control plane has ended.
func (c *ControlPlane) Done() <-chan struct{} { return c.done }

// Err is why the control plane ended by itself; nil after Stop. Call it once Done is closed.
func (c *ControlPlane) Err() error { return c.err }

// Stop ends the control plane and returns when it has ended.
func (c *ControlPlane) Stop() error {
	c.stop()
	<-c.done
	return c.err
}
