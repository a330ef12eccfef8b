// Package join joins the virtual machines of the Azure test server to a real control plane: each becomes a Node with the labels, taints and
// resources of its custom data, which the node simulator then simulates. A virtual machine whose custom data is wrong, which cannot reach
// the API server that it is given, or whose bootstrap token is not one of the cluster, does not become a Node; the error is recorded.
// Deleting a virtual machine removes its Node as on Azure. An agent on each node reports scheduled evictions as a node condition, and the
// one of Cilium removes its startup taint from nodes that are ready.
package join

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest"
	"github.com/karpenter-anew/karpenter/cloud/azure/azuretest/firstboot"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest/nodejoin"
)

// ConditionPreemptionScheduled is the node condition of a virtual machine that is about to be evicted.
//
// Source: Azure provider specification, repair policies.
const ConditionPreemptionScheduled corev1.NodeConditionType = "PreemptionScheduled"

// Options configure the joiner.
type Options struct {
	Account *azuretest.Account
	// Client is the client of the control plane, with administrator access.
	Client client.Client
	// Port is where the API server listens. Nodes of AKS are given a host only, and use port 443.
	Port string
	// Boot is how long a virtual machine takes from its creation until it joins.
	Boot time.Duration
	// Clock is the clock of the account; nil for the real one.
	Clock clock.WithTicker
	// Reach asks an API server for its version, trusting an authority (PEM); nil for the default implementation.
	Reach func(ctx context.Context, endpoint string, authority []byte) error
}

// Joiner joins virtual machines. Make one with New, and call Run.
type Joiner struct {
	*nodejoin.Joiner

	o       Options
	servers nodejoin.APIServers

	mu sync.Mutex
	// settings are what virtual machines read, by VMID.
	settings map[string]firstboot.Settings
}

// New makes a joiner. Virtual machines are identified by their VMID.
func New(o Options) *Joiner {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	j := &Joiner{o: o, servers: nodejoin.APIServers{Reach: o.Reach}, settings: map[string]firstboot.Settings{}}
	j.Joiner = nodejoin.New(nodejoin.Options{Client: o.Client, Instances: j.list, Boot: o.Boot, Clock: o.Clock})
	return j
}

// Run serves the virtual machines until ctx ends.
func (j *Joiner) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { j.Joiner.Run(ctx) })
	all.Go(func() { j.runCilium(ctx) })
	all.Wait()
}

// Settings are what a virtual machine read from its custom data; false if it has not joined yet.
func (j *Joiner) Settings(vmID string) (firstboot.Settings, bool) {
	if j.Node(vmID) == "" {
		return firstboot.Settings{}, false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s, ok := j.settings[vmID]
	return s, ok
}

// list lists the virtual machines of the account for the joiner.
func (j *Joiner) list() []nodejoin.Instance {
	hosts := j.o.Account.Hosts()
	out := make([]nodejoin.Instance, 0, len(hosts))
	for _, h := range hosts {
		out = append(out, nodejoin.Instance{
			ID: h.VMID, Phase: phaseOf(h.State), Launched: h.Created, BootID: h.VMID, Conditions: conditions(&h),
			Node: func(ctx context.Context) (*corev1.Node, error) { return j.register(ctx, &h) },
		})
	}
	return out
}

// phaseOf is what a virtual machine in a provisioning state does.
func phaseOf(state string) nodejoin.Phase {
	switch state {
	case "Succeeded", "Updating":
		return nodejoin.Running
	case "Deleting":
		return nodejoin.Stopping
	default:
		return nodejoin.Waiting
	}
}

// conditions are what the agent of a node reports, which reads the scheduled events of its virtual machine.
func conditions(h *azuretest.Host) []corev1.NodeCondition {
	if h.NotBefore.IsZero() {
		return nil
	}
	return []corev1.NodeCondition{{
		Type: ConditionPreemptionScheduled, Status: corev1.ConditionTrue, Reason: "VMEventScheduled",
		Message:            "The virtual machine is evicted at " + h.NotBefore.UTC().Format(time.RFC3339) + ".",
		LastTransitionTime: metav1.NewTime(h.NotBefore.Add(-azuretest.EvictionNotice)),
	}}
}

// register is the Node that a virtual machine registers.
func (j *Joiner) register(ctx context.Context, h *azuretest.Host) (*corev1.Node, error) {
	s, err := firstboot.Read(h.CustomData)
	if err != nil {
		return nil, err
	}
	if err := j.admit(ctx, h, &s); err != nil {
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.settings[h.VMID] = s
	return nodeOf(h, &s), nil
}

// admit checks the preconditions of joining: the connection to the API server, the bootstrap token, and that the cloud provider on the node
// finds the virtual machine.
func (j *Joiner) admit(ctx context.Context, h *azuretest.Host, s *firstboot.Settings) error {
	if err := j.servers.Connect(ctx, "https://"+net.JoinHostPort(s.APIServer, j.o.Port), s.Authority); err != nil {
		return err
	}
	if err := j.authenticate(ctx, s.Token); err != nil {
		return fmt.Errorf("unauthorized: %w", err)
	}
	in := "/subscriptions/" + s.Subscription + "/resourceGroups/" + s.ResourceGroup + "/providers/"
	if len(h.ID) < len(in) || !strings.EqualFold(h.ID[:len(in)], in) {
		return fmt.Errorf("the cloud provider does not find the virtual machine %s in subscription %q, resource group %q", h.ID, s.Subscription, s.ResourceGroup)
	}
	if !strings.EqualFold(s.Location, h.Location) {
		return fmt.Errorf("the cloud provider does not find the virtual machine %s in location %q", h.ID, s.Location)
	}
	return nil
}

// authenticate checks a bootstrap token as the API server does: there is a Secret with its ID and its secret, which is meant for this and has
// not expired.
func (j *Joiner) authenticate(ctx context.Context, token string) error {
	id, secret, ok := strings.Cut(token, ".")
	if !ok || len(id) != 6 || len(secret) != 16 {
		return errors.New("the bootstrap token is not 6 and 16 characters with a dot between them")
	}
	stored := &corev1.Secret{}
	if err := j.o.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "bootstrap-token-" + id}, stored); err != nil {
		return fmt.Errorf("finding bootstrap token %q: %w", id, err)
	}
	if string(stored.Data["token-secret"]) != secret || string(stored.Data["usage-bootstrap-authentication"]) != "true" {
		return fmt.Errorf("bootstrap token %q is not valid", id)
	}
	if text := string(stored.Data["expiration"]); text != "" {
		if end, err := time.Parse(time.RFC3339, text); err != nil || !j.o.Clock.Now().Before(end) {
			return fmt.Errorf("bootstrap token %q ended at %s", id, text)
		}
	}
	return nil
}
