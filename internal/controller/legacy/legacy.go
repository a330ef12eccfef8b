// Package legacy serves objects of earlier APIs: for every Provisioner it maintains a NodePool of the same name, and for every
// AWSNodeTemplate an EC2NodeClass. Package convert decides what they contain.
//
// The legacy object owns these objects, and other clients' changes to them are reverted. An object of the same name that the legacy
// object does not own is never touched: the condition of the legacy object says so until it is gone.
//
// The conversion of one legacy object can depend on others, so that there is one request and one worker.
package legacy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/api/condition"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha1"
	"github.com/karpenter-anew/karpenter/api/legacy/v1alpha5"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/controller/deps"
	"github.com/karpenter-anew/karpenter/internal/controller/ratelimit"
	"github.com/karpenter-anew/karpenter/internal/controller/requeue"
	"github.com/karpenter-anew/karpenter/internal/convert"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

const (
	// name is the controller's name in logs and metrics.
	name = "legacy.provisioner"
	// refusedRetry is the delay before a refused object is retried when nothing changes that the controller watches.
	refusedRetry = time.Minute
	// reasonRefused and reasonNotReady are why Active is False: the object cannot be served, or what it converts to is not ready.
	reasonRefused  = "Refused"
	reasonNotReady = "NotReady"
)

// Controller is the controller legacy.provisioner.
type Controller struct {
	deps.Shared
	settings convert.Settings
	// validator validates converted objects by the schemas of the CRDs.
	validator *manifest.Reader
	// aws is set if the cloud provider has EC2NodeClasses, which AWSNodeTemplates convert to.
	aws bool
}

// New builds the controller.
func New(shared deps.Shared) (*Controller, error) {
	c := &Controller{Shared: shared, settings: convert.Settings{ClassPerKubelet: true, ClusterName: shared.Cloud.ClusterName}}
	c.aws = shared.Cloud.Manages(&v1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass"})
	definitions, err := kwokcrds.Definitions()
	if c.aws {
		definitions, err = awscrds.Definitions()
	} else if len(shared.Cloud.NodeClasses) > 0 {
		class := shared.Cloud.NodeClasses[0].GVK
		c.settings.DedicatedClass = &convert.ClassKind{Group: class.Group, Version: class.Version, Kind: class.Kind}
	}
	if err != nil {
		return nil, err
	}
	c.validator, err = manifest.NewReader(definitions, awsv1.AddToScheme)
	return c, err
}

// Register adds the controller to the manager. Every change reconciles all legacy objects. Changes of status count only if they change
// why an owned object is not ready.
func (c *Controller) Register(m manager.Manager) error {
	everything := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	byUsers := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	changed, changedOrNotReady := builder.WithPredicates(byUsers), builder.WithPredicates(predicate.Or(byUsers, faultsChanged()))
	b := builder.ControllerManagedBy(m).
		Named(name).
		Watches(&v1alpha5.Provisioner{}, everything, changed).
		Watches(&v1.NodePool{}, everything, changedOrNotReady).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: 1,
			RateLimiter:             ratelimit.New[reconcile.Request](100*time.Millisecond, time.Minute, 10, 100),
		})
	if c.aws {
		b = b.Watches(&v1alpha1.AWSNodeTemplate{}, everything, changed)
	}
	for _, class := range c.Cloud.NodeClasses {
		b = b.Watches(class.New(), everything, changedOrNotReady)
	}
	return b.Complete(c)
}

// legacyObject is an object of an earlier API.
type legacyObject interface {
	client.Object
	condition.Object
}

// Reconcile reconciles all legacy objects.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	ctx = observe.WithController(ctx, name)
	olds, contents, err := c.olds(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	served := convert.DesiredFor(contents, c.settings, c.validator)
	result := reconcile.Result{}
	var errs []error
	for i, old := range olds {
		why, err := c.apply(ctx, old, served[i])
		if err == nil {
			err = c.report(ctx, old, served[i], why)
		}
		switch {
		case outdated(err):
			result = requeue.Soon()
		case err != nil:
			errs = append(errs, err)
		case why != "" && result == (reconcile.Result{}):
			result = requeue.After(refusedRetry)
		}
	}
	if err := errors.Join(append(errs, c.prune(ctx, olds, served))...); err != nil {
		return reconcile.Result{}, err
	}
	return result, nil
}

// outdated reports whether a write failed because the object has changed since it was read.
func outdated(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// olds returns the legacy objects that are not being deleted, by name, with their content. Provisioners come first.
func (c *Controller) olds(ctx context.Context) ([]legacyObject, []map[string]any, error) {
	var out []legacyObject
	var provisioners v1alpha5.ProvisionerList
	if err := c.Client.List(ctx, &provisioners); err != nil {
		return nil, nil, fmt.Errorf("listing provisioners: %w", err)
	}
	for i := range provisioners.Items {
		out = append(out, &provisioners.Items[i])
	}
	if c.aws {
		var templates v1alpha1.AWSNodeTemplateList
		if err := c.Client.List(ctx, &templates); err != nil {
			return nil, nil, fmt.Errorf("listing awsnodetemplates: %w", err)
		}
		for i := range templates.Items {
			out = append(out, &templates.Items[i])
		}
	}
	out = slices.DeleteFunc(out, func(p legacyObject) bool { return p.GetDeletionTimestamp() != nil })
	slices.SortStableFunc(out, func(a, b legacyObject) int {
		if aPool, bPool := isPool(a), isPool(b); aPool != bPool {
			return map[bool]int{true: -1, false: 1}[aPool]
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	contents := make([]map[string]any, len(out))
	for i, old := range out {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", describe(old), err)
		}
		gvk, err := c.Client.GroupVersionKindFor(old)
		if err != nil {
			return nil, nil, err
		}
		content["apiVersion"], content["kind"] = gvk.GroupVersion().String(), gvk.Kind
		contents[i] = content
	}
	return out, contents, nil
}

func isPool(p legacyObject) bool {
	_, ok := p.(*v1alpha5.Provisioner)
	return ok
}

// describe names a legacy object in messages.
func describe(p legacyObject) string {
	if isPool(p) {
		return "Provisioner " + p.GetName()
	}
	return "AWSNodeTemplate " + p.GetName()
}

// report sets the condition of a legacy object; why is why it is refused, empty if it is not.
func (c *Controller) report(ctx context.Context, old legacyObject, served convert.Desired, why string) error {
	if why != "" {
		c.Recorder.Publish(observe.LegacyRefused(old, old.GetUID(), why))
		return c.setCondition(ctx, old, reasonRefused, why)
	}
	why, err := c.notReady(ctx, served)
	if err != nil {
		return err
	}
	return c.setCondition(ctx, old, reasonNotReady, why)
}

// setCondition writes the condition Active; why is empty if it is True.
func (c *Controller) setCondition(ctx context.Context, old legacyObject, reason, why string) error {
	stored := old.DeepCopyObject().(legacyObject)
	set := condition.For(old, c.Clock.Now())
	root := old.ConditionTypes().Root
	if why == "" {
		set.True(root)
	} else {
		set.False(root, reason, why)
	}
	if equality.Semantic.DeepEqual(*stored.ConditionList(), *old.ConditionList()) {
		return nil
	}
	if reason == reasonRefused && why != "" {
		observe.Log(ctx).Warn("ignoring an object of an earlier API", logfield.LegacyObject(describe(old)), logfield.Reason(why))
	}
	if err := c.Client.Status().Patch(ctx, old, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("writing status of %s: %w", describe(old), err)
	}
	return nil
}
