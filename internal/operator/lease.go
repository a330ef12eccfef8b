package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/leader"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// namespaceFile holds the namespace of a pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// lease is the lock that makes one replica act.
type lease struct {
	enabled bool
	name    string
	// namespace is that of the controller. Without a lease it may be empty: unknown.
	namespace string
	// config is apart from that of the main client, so that a burst of its requests cannot cost the lease.
	config *rest.Config
	// lock is on the Lease of the API server, once open was called; nil without a lease.
	lock resourcelock.Interface
}

// newLease finds the namespace of the lease. base must not carry the limits of the main client yet.
func newLease(o options.LeaderElection, base *rest.Config) (lease, error) {
	namespace := o.Namespace
	if namespace == "" {
		own, err := os.ReadFile(namespaceFile)
		switch {
		case err != nil && o.Disable:
		case errors.Is(err, fs.ErrNotExist):
			return lease{}, errors.New("leader election needs a namespace for its lease: outside a cluster, name one with " +
				"--leader-election-namespace (LEADER_ELECTION_NAMESPACE), or run a single replica with --disable-leader-election")
		case err != nil:
			return lease{}, fmt.Errorf("reading the namespace of this pod for leader election: %w", err)
		}
		namespace = strings.TrimSpace(string(own))
	}
	if o.Disable {
		return lease{namespace: namespace}, nil
	}
	return lease{enabled: true, name: o.Name, namespace: namespace, config: rest.CopyConfig(base)}, nil
}

// open makes the lock. Call the result once the manager has ended: the events of the lock are published until then. The manager would make the
// same lock, and never end the goroutines that publish its events.
func (l *lease) open() (end func(), err error) {
	if !l.enabled {
		return func() {}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming the holder of the lease: %w", err)
	}
	config := rest.AddUserAgent(l.config, "leader-election")
	config.Timeout = leader.RenewDeadline / 2 // one request without an answer does not cost the lease
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("building the client of the lease: %w", err)
	}
	identity := host + "_" + string(uuid.NewUUID())
	events := record.NewBroadcaster()
	l.lock, err = resourcelock.New(resourcelock.LeasesResourceLock, l.namespace, l.name, client.CoreV1(), client.CoordinationV1(), resourcelock.ResourceLockConfig{
		Identity: identity, EventRecorder: events.NewRecorder(clientgoscheme.Scheme, corev1.EventSource{Component: identity}),
	})
	if err != nil {
		events.Shutdown()
		return nil, fmt.Errorf("making the lock of the lease: %w", err)
	}
	events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return events.Shutdown, nil
}

// apply configures the manager.
func (l lease) apply(to *manager.Options) {
	if !l.enabled {
		return
	}
	duration, deadline, retry := leader.LeaseDuration, leader.RenewDeadline, leader.RetryPeriod
	to.LeaderElection = true
	to.LeaderElectionID = l.name
	to.LeaderElectionNamespace = l.namespace
	to.LeaderElectionResourceLockInterface = l.lock
	to.LeaderElectionReleaseOnCancel = true
	to.LeaseDuration, to.RenewDeadline, to.RetryPeriod = &duration, &deadline, &retry
}
