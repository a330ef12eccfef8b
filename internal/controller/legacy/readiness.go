package legacy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/karpenter-anew/karpenter/api/condition"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/convert"
)

// obstacle says why nothing is launched with what is kept for an old object, although it is there; empty if something can be.
func (c *Controller) obstacle(ctx context.Context, served convert.Desired) (string, error) {
	if len(served.Objects) == 0 {
		return "", nil
	}
	// The pool of a Provisioner comes behind the class that it may have.
	last := served.Objects[len(served.Objects)-1]
	o, err := c.object(last)
	if err != nil {
		return "", err
	}
	why, err := c.faultsOf(ctx, last.Name, o)
	if why == "" || err != nil {
		return "", err
	}
	if last.Class.Kind != last.Kind {
		// The pool says only which conditions of its class are in the way; the class says why.
		cause, err := c.faultsOfClass(ctx, last.Class)
		if err != nil {
			return "", err
		}
		if cause != "" {
			why = fmt.Sprintf("%s %s: %s", last.Class.Kind, last.Class.Name, cause)
		}
	}
	return fmt.Sprintf("%s %s is not ready: %s", last.Kind, last.Name, why), nil
}

// faultsOfClass are those of the class that a pool refers to; empty if it is not there.
func (c *Controller) faultsOfClass(ctx context.Context, ref convert.ClassReference) (string, error) {
	class, ok := c.Cloud.NodeClassFor(&v1.NodeClassReference{Group: ref.Group, Kind: ref.Kind, Name: ref.Name})
	if !ok {
		return "", nil
	}
	return c.faultsOf(ctx, ref.Name, class.New())
}

// faultsOf reads an object into o and writes its faults into one text. One that is not there has none: its coming is heard of.
func (c *Controller) faultsOf(ctx context.Context, name string, o client.Object) (string, error) {
	err := c.Client.Get(ctx, types.NamespacedName{Name: name}, o)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("reading %T %s: %w", o, name, err)
	}
	return strings.Join(faults(o), "; "), nil
}

// faults are the conditions that keep an object from being ready, with what they say; none unless it says that it is not.
func faults(o client.Object) []string {
	judged, ok := o.(condition.Object)
	if !ok || condition.Status(judged, judged.ConditionTypes().Root) != metav1.ConditionFalse {
		return nil
	}
	var out []string
	kinds := judged.ConditionTypes()
	for _, t := range kinds.Dependents {
		if c := meta.FindStatusCondition(*judged.ConditionList(), t); c != nil && c.Status == metav1.ConditionFalse {
			out = append(out, text(c))
		}
	}
	if len(out) == 0 {
		out = append(out, text(meta.FindStatusCondition(*judged.ConditionList(), kinds.Root)))
	}
	return out
}

// text is what a condition that is False says.
func text(c *metav1.Condition) string {
	if c.Message == "" {
		return c.Type + " is False"
	}
	return c.Type + ": " + c.Message
}

// faultsChanged lets through updates after which something else keeps the object from being ready, or nothing does.
func faultsChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool { return !slices.Equal(faults(e.ObjectOld), faults(e.ObjectNew)) },
	}
}
