package chart

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keptFor is the label of objects that the controller derives from objects of earlier APIs.
const keptFor = "legacy.karpenter.sh/kept-for"

// object is a cluster-wide object by its name, without its content.
func object(apiVersion, kind, name string) *unstructured.Unstructured {
	var o unstructured.Unstructured
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetName(name)
	return &o
}

// patch changes an object as a user would.
func (w *installed) patch(o *unstructured.Unstructured, change string) {
	w.t.Helper()
	if err := w.client.Patch(w.t.Context(), o, client.RawPatch(types.MergePatchType, []byte(change))); err != nil {
		w.t.Fatal(err)
	}
}

// changeWhatIsKept removes the label of a derived class, and waits until it is back.
func (w *installed) changeWhatIsKept(apiVersion, kind string) {
	w.t.Helper()
	class := object(apiVersion, kind, "old")
	w.patch(class, fmt.Sprintf(`{"metadata": {"labels": {%q: null}}}`, keptFor))
	w.await("the label is put back", func() string {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(class), class); err != nil {
			return err.Error()
		}
		if class.GetLabels()[keptFor] == "" {
			return "it is missing"
		}
		return ""
	})
}

// wantDedicatedClass sets kubelet settings of a Provisioner for a while, for which it needs a dedicated class.
func (w *installed) wantDedicatedClass() {
	w.t.Helper()
	provisioner := object("karpenter.sh/v1alpha5", "Provisioner", "old")
	w.patch(provisioner, `{"spec": {"kubeletConfiguration": {"maxPods": 20}}}`)
	w.awaitClasses(3)
	w.patch(provisioner, `{"spec": {"kubeletConfiguration": null}}`)
	w.awaitClasses(2)
}

// wantMissingSubnets lets a template select no subnets for a while, which is a condition of its Provisioner.
func (w *installed) wantMissingSubnets() {
	w.t.Helper()
	template := object("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", "old")
	w.patch(template, `{"spec": {"subnetSelector": {"karpenter.sh/discovery": "elsewhere"}}}`)
	w.awaitActive("False", "NodePool old is not ready: EC2NodeClass old: SubnetsReady: ")
	w.patch(template, `{"spec": {"subnetSelector": {"karpenter.sh/discovery": "test"}}}`)
	w.awaitActive("True", "")
}

// awaitActive waits until the Provisioner has this Active condition and reason.
func (w *installed) awaitActive(status, why string) {
	w.t.Helper()
	provisioner := object("karpenter.sh/v1alpha5", "Provisioner", "old")
	w.await("Active of the Provisioner is "+status, func() string {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(provisioner), provisioner); err != nil {
			return err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(provisioner.Object, "status", "conditions")
		for _, c := range conditions {
			c := c.(map[string]any)
			if message, _ := c["message"].(string); c["type"] == "Active" && c["status"] == status && strings.HasPrefix(message, why) {
				return ""
			}
		}
		return fmt.Sprint(conditions)
	})
}

// awaitClasses waits until there are so many classes.
func (w *installed) awaitClasses(want int) {
	w.t.Helper()
	w.await(fmt.Sprintf("there are %d classes", want), func() string {
		if n := w.list(w.t.Context(), "karpenter.k8s.aws/v1", "EC2NodeClass", nil); n != want {
			return fmt.Sprintf("there are %d", n)
		}
		return ""
	})
}
