package kind

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// Scheme has the built-in types, and those of CustomResourceDefinitions. It must not be changed.
var Scheme = sync.OnceValue(func() *runtime.Scheme { //nolint:gochecknoglobals // a constant, but for its type
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
})

// builtin is a row of the table of built-in kinds.
type builtin struct {
	version    schema.GroupVersion
	kind       string
	plural     string
	short      []string
	categories []string
	// flags: n namespaced, s status, g generation, c created by an update, v updates name a version, w only with the feature gate GenericWorkload
	flags  string
	scale  *ScalePaths
	name   func(name string, prefix bool) []string
	fields []string
	hooks  hooks
}

// hooks are what is particular about a built-in kind, on typed objects.
type hooks struct {
	defaults     func(runtime.Object)
	create       func(runtime.Object)
	update       func(object, old runtime.Object)
	updateStatus func(object, old runtime.Object)
	validate     func(object, old runtime.Object, status bool) field.ErrorList
	columns      []column
}

// on adapts a function of a type to any object.
func on[T any](f func(*T)) func(runtime.Object) {
	return func(o runtime.Object) {
		if typed, ok := any(o).(*T); ok {
			f(typed)
		}
	}
}

// on2 is on for an object and its former state, which is nil for a new object.
func on2[T any](f func(object, old *T, status bool) field.ErrorList) func(object, old runtime.Object, status bool) field.ErrorList {
	return func(object, old runtime.Object, status bool) field.ErrorList {
		typed, ok := any(object).(*T)
		if !ok {
			return nil
		}
		former, _ := any(old).(*T)
		return f(typed, former, status)
	}
}

// Builtins returns the built-in kinds, with those of the feature gate GenericWorkload if it is on.
func Builtins(genericWorkload bool) ([]*Kind, error) {
	typed := applyconfigurations.NewTypeConverter(Scheme())
	var out []*Kind
	for _, row := range builtins() {
		if strings.Contains(row.flags, "w") && !genericWorkload {
			continue
		}
		k := row.compile()
		k.typed = typed
		if row.version.Group == apiextensionsv1.GroupName {
			k.typed = managedfields.NewDeducedTypeConverter() // client-go has no schema of this group
		}
		if err := k.track(); err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

func builtins() []builtin {
	all := []string{"all"}
	replicas := &ScalePaths{Replicas: ".spec.replicas", StatusReplicas: ".status.replicas", Selector: ".spec.selector"}
	core, apps, storage := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, storagev1.SchemeGroupVersion
	return []builtin{
		{version: core, kind: "Namespace", plural: "namespaces", short: []string{"ns"}, flags: "s", name: validation.ValidateNamespaceName, fields: []string{"status.phase"}, hooks: namespaceHooks()},
		{version: core, kind: "Node", plural: "nodes", short: []string{"no"}, flags: "s", fields: []string{"spec.unschedulable"}, hooks: nodeHooks()},
		{version: core, kind: "Pod", plural: "pods", short: []string{"po"}, categories: all, flags: "nsg", fields: podFields(), hooks: podHooks()},
		{version: core, kind: "ConfigMap", plural: "configmaps", short: []string{"cm"}, flags: "n", hooks: configMapHooks()},
		{version: core, kind: "Event", plural: "events", short: []string{"ev"}, flags: "nc", fields: eventFields(), hooks: eventHooks()},
		{version: core, kind: "PersistentVolume", plural: "persistentvolumes", short: []string{"pv"}, flags: "s", hooks: volumeHooks()},
		{version: core, kind: "PersistentVolumeClaim", plural: "persistentvolumeclaims", short: []string{"pvc"}, flags: "ns", hooks: claimHooks()},
		{version: core, kind: "PodTemplate", plural: "podtemplates", flags: "ng", hooks: podTemplateHooks()},
		{version: core, kind: "ReplicationController", plural: "replicationcontrollers", short: []string{"rc"}, categories: all, flags: "nsg", fields: []string{"status.replicas"}, hooks: replicationControllerHooks()},
		{version: core, kind: "Secret", plural: "secrets", flags: "n", fields: []string{"type"}, hooks: secretHooks()},
		{version: core, kind: "Service", plural: "services", short: []string{"svc"}, categories: all, flags: "ns", hooks: serviceHooks()},
		{version: core, kind: "ServiceAccount", plural: "serviceaccounts", short: []string{"sa"}, flags: "n"},
		{version: apps, kind: "Deployment", plural: "deployments", short: []string{"deploy"}, categories: all, flags: "nsg", scale: replicas, hooks: deploymentHooks()},
		{version: apps, kind: "ReplicaSet", plural: "replicasets", short: []string{"rs"}, categories: all, flags: "nsg", scale: replicas, fields: []string{"status.replicas"}, hooks: replicaSetHooks()},
		{version: apps, kind: "StatefulSet", plural: "statefulsets", short: []string{"sts"}, categories: all, flags: "nsg", scale: replicas, hooks: statefulSetHooks()},
		{version: apps, kind: "DaemonSet", plural: "daemonsets", short: []string{"ds"}, categories: all, flags: "nsg", hooks: daemonSetHooks()},
		{version: apps, kind: "ControllerRevision", plural: "controllerrevisions", flags: "n", hooks: controllerRevisionHooks()},
		{version: batchv1.SchemeGroupVersion, kind: "Job", plural: "jobs", categories: all, flags: "nsg", fields: []string{"status.successful"}, hooks: jobHooks()},
		{version: coordinationv1.SchemeGroupVersion, kind: "Lease", plural: "leases", flags: "ncv", hooks: leaseHooks()},
		{version: policyv1.SchemeGroupVersion, kind: "PodDisruptionBudget", plural: "poddisruptionbudgets", short: []string{"pdb"}, flags: "nsgv", hooks: budgetHooks()},
		{version: schedulingv1.SchemeGroupVersion, kind: "PriorityClass", plural: "priorityclasses", short: []string{"pc"}, flags: "g", hooks: priorityClassHooks()},
		{version: schedulingv1beta1.SchemeGroupVersion, kind: "PodGroup", plural: "podgroups", flags: "nsw", hooks: podGroupHooks()},
		{version: schedulingv1beta1.SchemeGroupVersion, kind: "Workload", plural: "workloads", flags: "nw"},
		{version: storage, kind: "CSINode", plural: "csinodes", flags: "v", hooks: csiNodeHooks()},
		{version: storage, kind: "VolumeAttachment", plural: "volumeattachments", flags: "sv", hooks: attachmentHooks()},
		{version: storage, kind: "StorageClass", plural: "storageclasses", short: []string{"sc"}, hooks: storageClassHooks()},
		{version: apiextensionsv1.SchemeGroupVersion, kind: "CustomResourceDefinition", plural: "customresourcedefinitions", short: []string{"crd", "crds"}, categories: []string{"api-extensions"}, flags: "sg", hooks: definitionHooks()},
	}
}

func (b builtin) compile() *Kind {
	gvk := b.version.WithKind(b.kind)
	k := &Kind{
		GroupVersionKind: gvk, ListKind: b.kind + "List", Plural: b.plural, Singular: strings.ToLower(b.kind), ShortNames: b.short,
		Categories: b.categories, Namespaced: strings.Contains(b.flags, "n"), Status: strings.Contains(b.flags, "s"),
		Generation: strings.Contains(b.flags, "g"), CreatedByUpdate: strings.Contains(b.flags, "c"), Versioned: strings.Contains(b.flags, "v"),
		Storage: b.version, Scale: b.scale, ValidateName: b.name, Fields: b.fields,
		columns: b.hooks.columns,
		New: func() runtime.Object {
			object, err := Scheme().New(gvk)
			utilruntime.Must(err) // the table has kinds of the scheme only; a test creates each
			return object
		},
	}
	k.Deprecation = deprecation(k.New(), b.kind, b.version.String())
	if k.ValidateName == nil {
		k.ValidateName = validation.NameIsDNSSubdomain
	}
	k.decode = func(content map[string]any) (map[string]any, []string, error) {
		return k.decodeTyped(content, b.hooks.defaults)
	}
	h := b.hooks
	if h.create != nil {
		k.create = func(content map[string]any) {
			k.edit(content, nil, func(object, _ runtime.Object) { h.create(object) })
		}
	}
	if h.update != nil {
		k.update = func(content, old map[string]any) { k.edit(content, old, h.update) }
	}
	if h.updateStatus != nil {
		k.updateStatus = func(content, old map[string]any) { k.edit(content, old, h.updateStatus) }
	}
	if h.validate != nil {
		k.validate = func(content, old map[string]any, status bool) field.ErrorList {
			var former runtime.Object
			if old != nil {
				former = k.typedOf(old)
			}
			return h.validate(k.typedOf(content), former, status)
		}
	}
	return k
}

// SameType checks that an object that was sent for a built-in kind is of this kind. What it does not say is completed.
func (k *Kind) SameType(sent *unstructured.Unstructured) error {
	if sent.GetKind() == "" {
		sent.SetKind(k.Kind)
	}
	if sent.GetAPIVersion() == "" {
		sent.SetAPIVersion(k.GroupVersion().String())
	}
	gvk := sent.GroupVersionKind()
	if gvk == k.GroupVersionKind {
		return nil
	}
	if !Scheme().Recognizes(gvk) {
		return fmt.Errorf("no kind %q is registered for version %q in scheme %q", gvk.Kind, sent.GetAPIVersion(), "pkg/runtime/scheme.go:111")
	}
	return fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", gvk.Version, gvk.Kind, k.InternalGroup(), k.Kind)
}

// InternalGroup is the package of the type without a version, which messages of kube-apiserver name.
func (k *Kind) InternalGroup() string {
	if k.Group == "" {
		return "core"
	}
	name, _, _ := strings.Cut(k.Group, ".")
	return name
}

// decodeTyped reads the content as the type of the kind, so that values have the form that the type gives them.
func (k *Kind) decodeTyped(content map[string]any, defaults func(runtime.Object)) (map[string]any, []string, error) {
	object := k.New()
	var unknown []string
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, object, true); err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return nil, nil, fmt.Errorf("%s in version %q cannot be handled as a %s: %w", k.Kind, k.GroupVersion().Version, k.Kind, k.mismatch(content, err))
		}
		for _, e := range strict.Errors() {
			unknown = append(unknown, e.Error())
		}
	}
	if defaults != nil {
		defaults(object)
	}
	return toContent(object), unknown, nil
}

// mismatch names the field whose type is wrong, which the error of the converter does not.
func (k *Kind) mismatch(content map[string]any, err error) error {
	raw, failed := json.Marshal(content)
	if failed != nil {
		return err
	}
	if better := json.Unmarshal(raw, k.New()); better != nil {
		return better
	}
	return err
}

// typedOf is the typed object for content that was decoded before.
func (k *Kind) typedOf(content map[string]any) runtime.Object {
	object := k.New()
	utilruntime.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(content, object))
	return object
}

// edit changes content by a function on typed objects. old may be nil.
func (k *Kind) edit(content, old map[string]any, change func(object, old runtime.Object)) {
	object := k.typedOf(content)
	var former runtime.Object
	if old != nil {
		former = k.typedOf(old)
	}
	change(object, former)
	out := toContent(object)
	out["apiVersion"], out["kind"] = content["apiVersion"], content["kind"]
	clear(content)
	for key, v := range out {
		content[key] = v
	}
}

// toContent is the JSON value of a typed object.
func toContent(object runtime.Object) map[string]any {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	utilruntime.Must(err) // types of the scheme have no values that JSON lacks
	dropNullTimes(out)
	return out
}

// dropNullTimes removes creation timestamps that are not set: the JSON encoder omits them, the converter does not.
func dropNullTimes(value any) {
	switch v := value.(type) {
	case map[string]any:
		if t, ok := v["creationTimestamp"]; ok && t == nil {
			delete(v, "creationTimestamp")
		}
		for _, child := range v {
			dropNullTimes(child)
		}
	case []any:
		for _, child := range v {
			dropNullTimes(child)
		}
	}
}
