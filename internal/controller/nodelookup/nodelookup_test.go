package nodelookup_test

import (
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/fakecluster"
	"github.com/karpenter-anew/karpenter/internal/controller/nodelookup"
)

func TestPairs(t *testing.T) {
	for name, c := range map[string]struct {
		claims, nodes []string // provider ids
		node, claim   error
	}{
		"one of each":             {[]string{"x"}, []string{"x"}, nil, nil},
		"other ids":               {[]string{"x"}, []string{"y"}, nodelookup.NotFound, nodelookup.NotFound},
		"several Nodes":           {[]string{"x"}, []string{"x", "x"}, nodelookup.Duplicate, nil},
		"several claims":          {[]string{"x", "x"}, []string{"x"}, nil, nodelookup.Duplicate},
		"empty ids match nothing": {[]string{""}, []string{""}, nodelookup.NotFound, nodelookup.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakecluster.New(t)
			var claims []*v1.NodeClaim
			var nodes []*corev1.Node
			for i, id := range c.claims {
				claim := w.LaunchedClaim(string(rune('a' + i)))
				claim.Status.ProviderID = id
				claims = append(claims, claim)
				w.Add(claim)
			}
			for i, id := range c.nodes {
				node := w.Node(string(rune('a' + i)))
				node.Spec.ProviderID = id
				nodes = append(nodes, node)
				w.Add(node)
			}
			if _, err := nodelookup.NodeOf(t.Context(), w.Client, claims[0]); !errors.Is(err, c.node) {
				t.Errorf("Node: %v, want %v", err, c.node)
			}
			if _, err := nodelookup.ClaimOf(t.Context(), w.Client, nodes[0]); !errors.Is(err, c.claim) {
				t.Errorf("claim: %v, want %v", err, c.claim)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	w := fakecluster.New(t)
	pool, other, class := fakecluster.Pool(), fakecluster.Pool(), fakecluster.Class()
	other.Name, other.UID = "other", "other-uid"
	other.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "second"}
	claim, stranger, node := w.LaunchedClaim("claim"), w.LaunchedClaim("stranger"), w.Node("node")
	node.Spec.ProviderID = claim.Status.ProviderID
	stranger.Labels[v1.NodePoolLabelKey] = "other"
	stranger.Spec.NodeClassRef = other.Spec.Template.Spec.NodeClassRef
	w.Add(pool, other, class, claim, stranger, node)
	kind := w.Cloud.NodeClasses[0].GVK
	for name, c := range map[string]struct {
		handler handler.EventHandler
		about   client.Object
		want    []string
	}{
		"Node to claims":  {nodelookup.NodeToClaims(w.Client), node, []string{"claim"}},
		"claim to Nodes":  {nodelookup.ClaimToNodes(w.Client), claim, []string{"node"}},
		"pool to claims":  {nodelookup.PoolToClaims(w.Client), pool, []string{"claim"}},
		"claim to pool":   {nodelookup.ClaimToPool(), stranger, []string{"other"}},
		"class to claims": {nodelookup.ClassToClaims(w.Client, kind), class, []string{"claim"}},
		"class to pools":  {nodelookup.ClassToPools(w.Client, kind), class, []string{"pool"}},
	} {
		t.Run(name, func(t *testing.T) {
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer queue.ShutDown()
			c.handler.Create(t.Context(), event.CreateEvent{Object: c.about}, queue)
			var got []string
			for queue.Len() > 0 {
				request, _ := queue.Get()
				got = append(got, request.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("woke %v, want %v", got, c.want)
			}
		})
	}
}
