package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/internal/core/spelling"
)

// noPod is the error for a pod that does not exist: it names the namespaces that have one of the name, or similar names.
func noPod(objects []client.Object, namespace, name string) error {
	var elsewhere, names []string
	for _, o := range objects {
		if _, ok := o.(*corev1.Pod); !ok {
			continue
		}
		if o.GetName() == name {
			elsewhere = append(elsewhere, o.GetNamespace())
		}
		if o.GetNamespace() == namespace {
			names = append(names, o.GetName())
		}
	}
	hint := spelling.DidYouMean(name, names)
	if len(elsewhere) > 0 {
		hint = fmt.Sprintf(", but there is one in namespace %q", slices.Min(elsewhere))
	}
	return fmt.Errorf("pod %q in namespace %q: %w%s", name, namespace, ErrNotFound, hint)
}

// noNode is the error for a node that does not exist. NodeClaims name nodes, too.
func noNode(objects []client.Object, name string) error {
	return fmt.Errorf("node %q: %w%s", name, ErrNotFound, spelling.DidYouMean(name, append(namesOf[*corev1.Node](objects), namesOf[*v1.NodeClaim](objects)...)))
}

// noObject is the error for an object of another kind that does not exist.
func noObject[T client.Object](objects []client.Object, kind, name string) error {
	return fmt.Errorf("%s %q: %w%s", kind, name, ErrNotFound, spelling.DidYouMean(name, namesOf[T](objects)))
}

func namesOf[T client.Object](objects []client.Object) []string {
	var out []string
	for _, o := range objects {
		if _, ok := o.(T); ok {
			out = append(out, o.GetName())
		}
	}
	return out
}
