package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/internal/core/spelling"
)

// objectKind is a kind of objects that can be explained, as the command line names it.
type objectKind string

// The kinds.
const (
	kindPod       objectKind = "pod"
	kindNode      objectKind = "node"
	kindNodeClaim objectKind = "nodeclaim"
	kindNodePool  objectKind = "nodepool"
)

// kinds are all of them.
func kinds() []knownKind {
	return []knownKind{
		{kindPod, "po", ""},
		{kindNode, "no", ""},
		{kindNodeClaim, "nc", ""},
		{kindNodePool, "np", ""},
		{"deployment", "deploy", "Deployment"},
		{"statefulset", "sts", "StatefulSet"},
		{"daemonset", "ds", "DaemonSet"},
		{"replicaset", "rs", "ReplicaSet"},
		{"replicationcontroller", "rc", "ReplicationController"},
		{"job", "", "Job"},
	}
}

// knownKind is a kind with its short name and, of a workload, the Kind of its objects.
type knownKind struct {
	kind            objectKind
	short, workload string
}

// workload is the Kind of the objects of a workload; empty for other kinds.
func (k objectKind) workload() string {
	for _, known := range kinds() {
		if known.kind == k {
			return known.workload
		}
	}
	return ""
}

// namespaced reports whether objects of the kind are in a namespace.
func (k objectKind) namespaced() bool { return k == kindPod || k.workload() != "" }

// objectName is an argument of explain. A list of plain strings would be one argument with commas.
type objectName string

// namedObject is one object to explain.
type namedObject struct {
	kind objectKind
	name string
	// namespace is empty until it is known, and for kinds without namespaces.
	namespace string
}

// kindNamed is the kind of a name, plural or short name, in upper or lower case, also with the API group.
func kindNamed(word string) (objectKind, error) {
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	var known []string
	for _, k := range kinds() {
		if word == string(k.kind) || word == string(k.kind)+"s" || k.short != "" && word == k.short {
			return k.kind, nil
		}
		known = append(known, string(k.kind))
	}
	if hint := spelling.DidYouMean(word, known); hint != "" {
		return "", fmt.Errorf("unknown kind %q%s", word, hint)
	}
	return "", fmt.Errorf("unknown kind %q: use %s", word, strings.Join(known, ", "))
}

// objectsNamed reads the arguments of explain: names of a kind or, if the kind is empty, KIND/NAME for each object or KIND and names.
func objectsNamed(kind objectKind, args []objectName) ([]namedObject, error) {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = string(arg)
	}
	if len(words) == 0 {
		return nil, errors.New("expected an object: name it as in pod NAME or pod/NAME")
	}
	var err error
	if kind == "" && !strings.Contains(words[0], "/") {
		if kind, err = kindNamed(words[0]); err != nil {
			return nil, err
		}
		if words = words[1:]; len(words) == 0 {
			return nil, fmt.Errorf("expected the name of a %s", kind)
		}
	}
	out := make([]namedObject, 0, len(words))
	for _, word := range words {
		of, name, hasKind := strings.Cut(word, "/")
		switch {
		case kind == "" && !hasKind:
			return nil, fmt.Errorf("%q has no kind: name all objects as in pod/NAME, or give one kind and the names", word)
		case kind != "" && hasKind:
			return nil, fmt.Errorf("the kind is given already: %q must be a name only; the namespace of a pod is given by -n NAMESPACE", word)
		case hasKind && name == "":
			return nil, fmt.Errorf("%q has no name: name objects as in pod/NAME", word)
		case kind != "":
			out = append(out, namedObject{kind: kind, name: word})
			continue
		}
		each, err := kindNamed(of)
		if err != nil {
			return nil, err
		}
		out = append(out, namedObject{kind: each, name: name})
	}
	return out, nil
}

// checkNamespace reports flags that contradict each other.
func (c *Command) checkNamespace() error {
	if c.AllNamespaces && c.Namespace != "" {
		return errors.New("--namespace and --all-namespaces cannot be used together: leave out one of them")
	}
	return nil
}

// namespace is that of pods and workloads without --all-namespaces.
func (c *Command) namespace() (string, error) {
	switch {
	case c.Namespace != "":
		return c.Namespace, nil
	case c.Cluster.Snapshot != "":
		return corev1.NamespaceDefault, nil
	}
	return c.Cluster.Access.Namespace()
}

// inNamespaces sets the namespaces of objects. With --all-namespaces, an object is in every namespace that has one of the name, and in the given one if
// there is none.
func (c *Command) inNamespaces(about []namedObject, namespace string, objects []client.Object) []namedObject {
	var out []namedObject
	for _, object := range about {
		if !object.kind.namespaced() {
			out = append(out, object)
			continue
		}
		var in []string
		if c.AllNamespaces {
			in = namespacesOf(object, objects)
		}
		if len(in) == 0 {
			in = []string{namespace}
		}
		for _, object.namespace = range in {
			out = append(out, object)
		}
	}
	return out
}

// namespacesOf are the namespaces that have an object of the kind and name, or pods whose controller it is.
func namespacesOf(object namedObject, objects []client.Object) []string {
	kind := object.kind.workload()
	if object.kind == kindPod {
		kind = "Pod"
	}
	var out []string
	for _, o := range objects {
		of := metav1.GetControllerOf(o)
		if o.GetName() == object.name && o.GetObjectKind().GroupVersionKind().Kind == kind || of != nil && of.Kind == kind && of.Name == object.name {
			out = append(out, o.GetNamespace())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
