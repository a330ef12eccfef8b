package operator

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/console"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// authorization has the API server authenticate and authorize the clients of an endpoint.
type authorization struct {
	client kubernetes.Interface
	clock  clock.PassiveClock
	log    *slog.Logger
}

// newAuthorizer returns what makes an authorization with a separate client. What a later client waits for, and the fence, do not apply to reviews:
// replicas that are not the leader have metrics, too.
func newAuthorizer(config *rest.Config, now clock.PassiveClock, log *slog.Logger) func() (authorization, error) {
	return func() (authorization, error) {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return authorization{}, fmt.Errorf("preparing the authentication of metrics: %w", err)
		}
		return authorization{client: client, clock: now, log: log}, nil
	}
}

// protect adds TLS, authentication and authorization to an endpoint; name is for messages. The certificate is not signed by an authority, as
// those of other metrics endpoints. It returns the listener also with an error, to be closed.
func (a authorization) protect(name string, handler http.Handler, listener net.Listener) (http.Handler, net.Listener, error) {
	handler = console.Authorized(handler, reviews{a.client}, a.clock, func(err error) {
		a.log.Error("authenticating a request to "+name+" failed", logfield.Error(err))
	})
	cert, key, err := certutil.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, listener, fmt.Errorf("making a certificate for %s: %w", name, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, listener, fmt.Errorf("making a certificate for %s: %w", name, err)
	}
	return handler, tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}), nil
}

// reviews implements console.Reviewer.
type reviews struct{ client kubernetes.Interface }

// ReviewToken implements console.Reviewer.
func (r reviews) ReviewToken(ctx context.Context, review *authenticationv1.TokenReview) (*authenticationv1.TokenReview, error) {
	return r.client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
}

// ReviewAccess implements console.Reviewer.
func (r reviews) ReviewAccess(ctx context.Context, review *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
	return r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
}
