// Package join joins the instances of the AWS test server to a real control plane: each becomes a Node with the labels, taints and
// resources of its user data, which the node simulator then simulates. An instance whose user data is wrong, which cannot reach the
// API server at the given endpoint, or whose role has no access, does not become a Node; the error is recorded. Terminating an
// instance removes its Node as on EC2.
package join

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/aws/awstest/firstboot"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest/nodejoin"
)

// Options configure the joiner.
type Options struct {
	Account *awstest.Account
	// Client is the client of the control plane, with administrator access.
	Client client.Client
	// Cluster is the name of the cluster. Nodes that name another cluster are ignored.
	Cluster string
	// Roles are the roles whose instances have access to the cluster; see Grant.
	Roles []string
	// Boot is how long an instance takes from its launch until it joins.
	Boot time.Duration
	// Clock is the clock of the account; nil for the real one.
	Clock clock.WithTicker
	// Reach asks an API server for its version, trusting an authority (PEM); nil for the default implementation.
	Reach func(ctx context.Context, endpoint string, authority []byte) error
}

// Joiner joins instances. Make one with New, and call Run.
type Joiner struct {
	*nodejoin.Joiner

	o       Options
	servers nodejoin.APIServers

	mu sync.Mutex
	// settings are what instances read, by ID.
	settings map[string]firstboot.Settings
	roles    map[string]bool
}

// New makes a joiner.
func New(o Options) *Joiner {
	j := &Joiner{o: o, servers: nodejoin.APIServers{Reach: o.Reach}, settings: map[string]firstboot.Settings{}, roles: map[string]bool{}}
	j.Joiner = nodejoin.New(nodejoin.Options{Client: o.Client, Instances: j.list, Boot: o.Boot, Clock: o.Clock})
	j.Grant(o.Roles...)
	return j
}

// Grant gives roles access to the cluster, like EKS access entries.
func (j *Joiner) Grant(roles ...string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, role := range roles {
		j.roles[role] = true
	}
}

// Settings are what an instance read from its user data; false if it has not joined yet.
func (j *Joiner) Settings(instance string) (firstboot.Settings, bool) {
	if j.Node(instance) == "" {
		return firstboot.Settings{}, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s, ok := j.settings[instance]
	return s, ok
}

// list lists the instances of the account for the joiner.
func (j *Joiner) list() []nodejoin.Instance {
	hosts := j.o.Account.Hosts()
	out := make([]nodejoin.Instance, 0, len(hosts))
	for _, m := range hosts {
		out = append(out, nodejoin.Instance{
			ID: m.ID, Phase: phaseOf(m.State), Launched: m.Launched, BootID: m.BootID(),
			Node: func(ctx context.Context) (*corev1.Node, error) { return j.register(ctx, &m) },
		})
	}
	return out
}

// phaseOf is what an instance in a state of EC2 does.
func phaseOf(state string) nodejoin.Phase {
	switch state {
	case "running":
		return nodejoin.Running
	case "shutting-down", "stopping", "stopped":
		return nodejoin.Stopping
	case "terminated":
		return nodejoin.Gone
	default:
		return nodejoin.Waiting
	}
}

// register is the Node that an instance registers.
func (j *Joiner) register(ctx context.Context, m *awstest.Host) (*corev1.Node, error) {
	s, err := firstboot.Read(firstboot.KindOf(m.ImageName), m.UserData)
	if err != nil {
		return nil, err
	}
	if err := j.admit(ctx, m, s); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.settings[m.ID] = s
	return nodeOf(m, s), nil
}

// admit checks the preconditions of joining: the connection to the API server, and the access of the role.
func (j *Joiner) admit(ctx context.Context, m *awstest.Host, s firstboot.Settings) error {
	if s.Endpoint != "" {
		if err := j.servers.Connect(ctx, s.Endpoint, s.Authority); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case s.Cluster != j.o.Cluster:
		return fmt.Errorf("unauthorized: the token is for cluster %q", s.Cluster)
	case s.IPv6 && m.IPv6 == "":
		return errors.New("the kubelet does not start: the instance has no IPv6 address")
	case m.Role == "":
		return errors.New("unauthorized: the instance has no profile with a role")
	case !j.roles[m.Role]:
		return fmt.Errorf("unauthorized: role %q has no access to the cluster, there are %v", m.Role, slices.Sorted(maps.Keys(j.roles)))
	}
	return nil
}
