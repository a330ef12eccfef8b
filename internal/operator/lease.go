package operator

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/karpenter-anew/karpenter/internal/options"
	"github.com/karpenter-anew/karpenter/internal/restconfig"
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

// apply configures the manager.
func (l lease) apply(to *manager.Options) {
	if !l.enabled {
		return
	}
	duration, deadline, retry := restconfig.LeaseDuration, restconfig.RenewDeadline, restconfig.RetryPeriod
	to.LeaderElection = true
	to.LeaderElectionID = l.name
	to.LeaderElectionNamespace = l.namespace
	to.LeaderElectionConfig = l.config
	to.LeaderElectionReleaseOnCancel = true
	to.LeaseDuration, to.RenewDeadline, to.RetryPeriod = &duration, &deadline, &retry
}
