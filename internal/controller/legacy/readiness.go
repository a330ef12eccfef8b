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

// notReady is why the NodePool or NodeClass of a legacy object is not ready; empty if it is.
func (c *Controller) notReady(ctx context.Context, served convert.Desired) (string, error) {
	if len(served.Objects) == 0 {
		return "", nil
	}
	// The NodePool of a Provisioner comes after the NodeClass that it may have.
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
		// The NodePool only names the conditions of its NodeClass that are False; the NodeClass has the messages.
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

// faultsOfClass are those of the NodeClass that a NodePool refers to; empty if it does not exist.
func (c *Controller) faultsOfClass(ctx context.Context, ref convert.ClassReference) (string, error) {
	class, ok := c.Cloud.NodeClassFor(&v1.NodeClassReference{Group: ref.Group, Kind: ref.Kind, Name: ref.Name})
	if !ok {
		return "", nil
	}
	return c.faultsOf(ctx, ref.Name, class.New())
}

// faultsOf reads an object into o and returns its faults as one text. An object that does not exist has none: its creation is an event.
func (c *Controller) faultsOf(ctx context.Context, name string, o client.Object) (string, error) {
	err := c.Client.Get(ctx, types.NamespacedName{Name: name}, o)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("reading %T %s: %w", o, name, err)
	}
	return strings.Join(faults(o), "; "), nil
}

// faults are the conditions because of which an object is not ready, with their messages; none unless its root condition is False.
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

// text is the message of a condition that is False.
func text(c *metav1.Condition) string {
	if c.Message == "" {
		return c.Type + " is False"
	}
	return c.Type + ": " + c.Message
}

// faultsChanged passes updates that change the faults of an object.
func faultsChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool { return !slices.Equal(faults(e.ObjectOld), faults(e.ObjectNew)) },
	}
}
