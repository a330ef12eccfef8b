// Package inplaceupdate updates the tags and identities of instances without replacing their nodes, when an AKSNodeClass or the
// settings change. An annotation of the NodeClaim has the hash of what its instance was last given.
//
// An edit of a class affects all its NodeClaims at once, and each needs several requests of the budget that Azure has for the
// subscription, which launches need too. A rate limiter spaces the updates: a reconcile above the limit requeues with the delay, and no
// worker sleeps. When Azure throttles a request, all updates pause.
//
// Source: Azure provider specification, in-place update.
package inplaceupdate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/azure/label"
	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/resourcetags"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// unregisteredAgain is when a NodeClaim is looked at again whose node has not joined.
	unregisteredAgain = time.Minute
	// updateTimeout is how long an update may take. Azure ends the operations of one within seconds.
	updateTimeout = 10 * time.Minute
)

// Updater gives the instance of a NodeClaim its wanted tags and identities. It returns when Azure has done so, or when nothing differs.
type Updater interface {
	Update(_ context.Context, _ *v1.NodeClaim, wanted resourcetags.InPlace) error
}

// Options are what the controller is made of.
type Options struct {
	Client client.Client
	Clock  clock.PassiveClock
	// VMs updates virtual machines that the provider created, AKSMachines those of NodeClaims with the annotation of an AKSMachine;
	// nil if there are none.
	VMs, AKSMachines Updater
	// Cluster is the name of the cluster, Tags are those of the settings, Identities the ARM ids of the user-assigned identities of nodes.
	Cluster    string
	Tags       map[string]string
	Identities []string
	// Manages reports whether a NodeClaim belongs to this provider.
	Manages func(*v1.NodeClassReference) bool
}

// Controller updates the instances of NodeClaims. Make one with New.
type Controller struct {
	Options
	turns *turns
}

// New makes a controller.
func New(o Options) *Controller { return &Controller{Options: o, turns: newTurns(o.Clock)} }

// Reconcile updates the instance of one NodeClaim, if its hash is not that of what its class and the settings say.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := &v1.NodeClaim{}
	if err := c.Client.Get(ctx, req.NamespacedName, claim); err != nil {
		c.turns.giveUp(req.Name)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !c.Manages(claim.Spec.NodeClassRef) || !claim.DeletionTimestamp.IsZero() {
		c.turns.giveUp(req.Name)
		return reconcile.Result{}, nil
	}
	class := &v1beta1.AKSNodeClass{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: claim.Spec.NodeClassRef.Name}, class); err != nil {
		return reconcile.Result{}, fmt.Errorf("updating the instance of nodeclaim %q: %w", claim.Name, err)
	}
	wanted, updater := c.wanted(claim, class)
	hash := wanted.Hash()
	if claim.Annotations[label.AnnotationInPlaceUpdateHash] == hash {
		c.turns.giveUp(req.Name)
		return reconcile.Result{}, nil
	}
	if condition.Status(claim, v1.ConditionTypeRegistered) != "True" || claim.Status.ProviderID == "" {
		return reconcile.Result{RequeueAfter: unregisteredAgain}, nil
	}
	if wait := c.turns.take(claim.Name); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if updater == nil {
		return reconcile.Result{}, fmt.Errorf("updating the instance of nodeclaim %q: it is an AKSMachine, which the controller does not create in this provision mode", claim.Name)
	}
	return c.update(ctx, claim, wanted, updater)
}

// wanted is what the instance of a NodeClaim is to have, and what updates it.
func (c *Controller) wanted(claim *v1.NodeClaim, class *v1beta1.AKSNodeClass) (resourcetags.InPlace, Updater) {
	owner := resourcetags.Owner{Cluster: c.Cluster, NodeClaim: claim}
	if claim.Annotations[label.AnnotationAKSMachineResourceID] != "" {
		return resourcetags.InPlace{Tags: resourcetags.OfAKSMachine(c.Tags, class.Spec.Tags, owner)}, c.AKSMachines
	}
	return resourcetags.InPlace{Tags: resourcetags.OfVM(c.Tags, class.Spec.Tags, owner), Identities: c.Identities}, c.VMs
}

// update updates an instance and records it. Errors are retried with growing pauses; throttling pauses all updates.
func (c *Controller) update(ctx context.Context, claim *v1.NodeClaim, wanted resourcetags.InPlace, updater Updater) (reconcile.Result, error) {
	limited, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	err := updater.Update(limited, claim, wanted)
	if after, throttled := throttling(err); throttled {
		wait := c.turns.pause(claim.Name, after)
		observe.Log(ctx).InfoContext(ctx, "azure throttles updates of instances in place, they pause",
			logfield.NodeClaim(claim.Name), logfield.RetryIn(wait), logfield.Error(err))
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("updating the instance of nodeclaim %q: %w", claim.Name, err)
	}
	before := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	claim.Annotations[label.AnnotationInPlaceUpdateHash] = wanted.Hash()
	if err := c.Client.Patch(ctx, claim, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("recording the update of the instance of nodeclaim %q: %w", claim.Name, err)
	}
	return reconcile.Result{}, nil
}

// throttling reports whether an error says that there were too many requests, and how long Azure asks to wait; 0 if it does not say.
func throttling(err error) (time.Duration, bool) {
	var response *azcore.ResponseError
	if !errors.As(err, &response) || response.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	if response.RawResponse == nil {
		return 0, true
	}
	seconds, err := time.ParseDuration(response.RawResponse.Header.Get("Retry-After") + "s")
	if err != nil || seconds < 0 {
		return 0, true
	}
	return seconds, true
}
