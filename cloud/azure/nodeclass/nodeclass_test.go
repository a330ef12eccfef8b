package nodeclass_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
	v1 "github.com/karpenter-anew/karpenter/api/v1"
	"github.com/karpenter-anew/karpenter/cloud/azure/discovery"
	"github.com/karpenter-anew/karpenter/cloud/azure/nodeclass"
	"github.com/karpenter-anew/karpenter/cloud/azure/subnet"
	shared "github.com/karpenter-anew/karpenter/cloud/nodeclass"
	"github.com/karpenter-anew/karpenter/internal/observe"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

const (
	clusterSubnet = "/subscriptions/sub/resourceGroups/network/providers/Microsoft.Network/virtualNetworks/mine/subnets/nodes"
	managedSubnet = "/subscriptions/sub/resourceGroups/MC_group/providers/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet"
	namespace     = "kube-system"
)

// world is a class, the controller of its status, and what it asks.
type world struct {
	t       *testing.T
	clock   *clocktesting.FakeClock
	client  client.WithWatch
	options nodeclass.Options
	status  *shared.Status[*v1beta1.AKSNodeClass]
	events  chan string

	version    string              // of the API server
	versionErr error               //
	asked      int                 // how often for it
	images     []v1beta1.NodeImage // newest
	imagesErr  error               //
	subnets    map[string]error    // what reading them answers
	encryption map[string]error    // the same of disk encryption sets
	free       int                 // addresses of subnets
	addresses  int                 // of a node
	fullUntil  time.Time           // when there are none
}

// Of implements nodeclass.Images.
func (w *world) Of(_ context.Context, class *v1beta1.AKSNodeClass) ([]v1beta1.NodeImage, error) {
	if _, err := class.CurrentKubernetesVersion(); err != nil {
		return nil, err
	}
	return w.images, w.imagesErr
}

// Subnet implements nodeclass.Resources.
func (w *world) Subnet(_ context.Context, id subnet.ID) (int, error) {
	return w.free, w.subnets[id.String()]
}

// Check implements nodeclass.FullSubnets.
func (w *world) Check(_ *v1beta1.AKSNodeClass, free int) (int, time.Time, bool) {
	return w.addresses, w.fullUntil, free == 0
}

// DiskEncryptionSet implements nodeclass.Resources.
func (w *world) DiskEncryptionSet(_ context.Context, id string) error { return w.encryption[id] }

func newWorld(t *testing.T, change func(*nodeclass.Options)) *world {
	t.Helper()
	w := &world{
		t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)), version: "v1.34.1",
		images: images("202604.1.0"), subnets: map[string]error{}, encryption: map[string]error{}, free: 1,
	}
	w.client = apiserver.New().WithStatusSubresource(&v1.NodeClaim{}, &v1beta1.AKSNodeClass{}).Build()
	sink := record.NewFakeRecorder(10)
	w.events = sink.Events
	w.options = nodeclass.Options{
		Client: w.client, Reader: w.client, Recorder: observe.NewRecorder(sink, w.clock), Clock: w.clock, Images: w, Resources: w, FullSubnets: w,
		Version:   func(context.Context) (string, error) { w.asked++; return w.version, w.versionErr },
		Namespace: namespace, NodeResourceGroup: "MC_group", Subnet: clusterSubnet, NetworkPlugin: "azure", NetworkPolicy: "cilium",
	}
	if change != nil {
		change(&w.options)
	}
	w.status = nodeclass.NewStatus(w.options)
	w.create(&v1beta1.AKSNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "class-uid", Generation: 1}})
	return w
}

// images are the images of Ubuntu in a version.
func images(version string) []v1beta1.NodeImage {
	var out []v1beta1.NodeImage
	for _, definition := range []string{"2404gen2containerd", "2404containerd"} {
		out = append(out, v1beta1.NodeImage{ID: fmt.Sprintf("/CommunityGalleries/AKSUbuntu/images/%s/versions/%s", definition, version)})
	}
	return out
}

func versions(class *v1beta1.AKSNodeClass) string {
	var out []string
	for _, i := range class.Status.Images {
		parts := strings.Split(i.ID, "/")
		out = append(out, parts[4]+" "+parts[6])
	}
	return strings.Join(out, ", ")
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) class() *v1beta1.AKSNodeClass {
	w.t.Helper()
	class := &v1beta1.AKSNodeClass{}
	if err := w.client.Get(w.t.Context(), client.ObjectKey{Name: "default"}, class); err != nil {
		w.t.Fatal(err)
	}
	return class
}

// edit changes the class, as users do.
func (w *world) edit(change func(*v1beta1.AKSNodeClass)) {
	w.t.Helper()
	class := w.class()
	change(class)
	class.Generation++
	if err := w.client.Update(w.t.Context(), class); err != nil {
		w.t.Fatal(err)
	}
}

func request() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Name: "default"}}
}

// reconcile reconciles the class and returns it.
func (w *world) reconcile() (*v1beta1.AKSNodeClass, time.Duration, error) {
	w.t.Helper()
	result, err := w.status.Reconcile(w.t.Context(), request())
	return w.class(), result.RequeueAfter, err
}

// settled reconciles the class without an error.
func (w *world) settled() (*v1beta1.AKSNodeClass, time.Duration) {
	w.t.Helper()
	class, again, err := w.reconcile()
	if err != nil {
		w.t.Fatal(err)
	}
	return class, again
}

// expect compares a condition: its status, and its reason if it is not True.
func expect(t *testing.T, class *v1beta1.AKSNodeClass, conditionType, want string) {
	t.Helper()
	for _, have := range class.Status.Conditions {
		if have.Type != conditionType {
			continue
		}
		got := string(have.Status)
		if have.Status != metav1.ConditionTrue {
			got += " " + have.Reason
		}
		if got != want {
			t.Errorf("condition %s is %s (%s), want %s", conditionType, got, have.Message, want)
		}
		return
	}
	t.Errorf("condition %s is missing", conditionType)
}

func answer(code int) error { return &azcore.ResponseError{StatusCode: code} }

func TestNewClassesBecomeReady(t *testing.T) {
	t.Attr("covers", "Z122")
	w := newWorld(t, nil)
	class, again := w.settled()
	expect(t, class, v1beta1.ConditionTypeReady, "True")
	if class.Status.KubernetesVersion != "1.34.1" || versions(class) != "2404gen2containerd 202604.1.0, 2404containerd 202604.1.0" {
		t.Errorf("the status is %+v", class.Status)
	}
	if again != 3*time.Minute || class.Status.LocalDNSState != v1beta1.LocalDNSStateDisabled {
		t.Errorf("again after %v, LocalDNS %s", again, class.Status.LocalDNSState)
	}
	version := class.ResourceVersion
	if class, _ = w.settled(); class.ResourceVersion != version || w.asked != 1 {
		t.Errorf("written again, or the version asked for %d times", w.asked)
	}
}

func TestKubernetesVersions(t *testing.T) {
	t.Attr("covers", "Z125 Z126")
	w := newWorld(t, nil)
	w.settled()
	w.create(window(w.clock.Now().Add(time.Hour), w.clock.Now().Add(2*time.Hour)))
	w.version, w.images = "v1.35.0", images("202605.1.0")
	w.clock.Step(14 * time.Minute)
	if class, _ := w.settled(); class.Status.KubernetesVersion != "1.34.1" {
		t.Errorf("the version is %s before it is asked for", class.Status.KubernetesVersion)
	}
	w.clock.Step(time.Minute)
	class, _ := w.settled()
	if class.Status.KubernetesVersion != "1.35.0" || versions(class) != "2404gen2containerd 202605.1.0, 2404containerd 202605.1.0" {
		t.Errorf("the status is %+v", class.Status)
	}
	expect(t, class, v1beta1.ConditionTypeReady, "True")

	w.version, w.images = "v1.34.2", images("202605.2.0")
	w.clock.Step(15 * time.Minute)
	class, _ = w.settled()
	if class.Status.KubernetesVersion != "1.35.0" || !strings.Contains(versions(class), "202605.1.0") {
		t.Errorf("the status is %+v after a downgrade", class.Status)
	}

	w.version = "one"
	w.clock.Step(15 * time.Minute)
	if class, _, err := w.reconcile(); err == nil || class.Status.KubernetesVersion != "1.35.0" {
		t.Errorf("the version is %s, %v", class.Status.KubernetesVersion, err)
	}
	w.versionErr = errors.New("no answer")
	w.clock.Step(15 * time.Minute)
	class, _, err := w.reconcile()
	if err == nil || !strings.Contains(err.Error(), `looking after the kubernetes version of aksnodeclass "default"`) {
		t.Errorf("%v", err)
	}
	expect(t, class, v1beta1.ConditionTypeReady, "True")
}

// TestAdoptedVersions holds the version of a class against that of the API server before and after.
//
// Source: Azure provider specification, conformance vectors.
func TestAdoptedVersions(t *testing.T) {
	t.Attr("covers", "Z126")
	for _, test := range []struct {
		status, server, want string
		images               string // the condition, while there are no new images
	}{
		{"", "v1.33.4", "1.33.4", ""},
		{"v1.33.4", "v1.34.0", "1.34.0", "False KubernetesUpgrade"},
		{"v1.34.0", "v1.33.9", "1.34.0", "True"},
		{"v1.33.4", "v1.34.0-rc.1", "1.34.0-rc.1", "False KubernetesUpgrade"},
		{"v1.34.0-rc.1", "v1.34.0", "1.34.0", "False KubernetesUpgrade"},
		{"v1.34.0", "v1.34.0-rc.1", "1.34.0", "True"},
	} {
		w := newWorld(t, nil)
		if test.status != "" {
			w.version = test.status
			w.settled()
		}
		w.version, w.imagesErr = test.server, errors.New("no answer")
		w.clock.Step(15 * time.Minute)
		class, _, _ := w.reconcile() // the error is that of the images
		if class.Status.KubernetesVersion != test.want {
			t.Errorf("%s, then %s: the version is %s", test.status, test.server, class.Status.KubernetesVersion)
		}
		if test.images != "" {
			expect(t, class, v1beta1.ConditionTypeImagesReady, test.images)
		}
	}
}

func TestKubernetesUpgradeWithoutImages(t *testing.T) {
	w := newWorld(t, nil)
	w.settled()
	w.version, w.imagesErr = "v1.35.0", errors.New("no answer")
	w.clock.Step(15 * time.Minute)
	class, _, err := w.reconcile()
	if err == nil {
		t.Error("no error")
	}
	expect(t, class, v1beta1.ConditionTypeImagesReady, "False KubernetesUpgrade")
	w.imagesErr = nil
	class, _ = w.settled()
	expect(t, class, v1beta1.ConditionTypeReady, "True")
}

func TestImagesThatThereAreNot(t *testing.T) {
	t.Attr("covers", "Z116")
	w := newWorld(t, nil)
	w.settled()
	w.imagesErr = fmt.Errorf("listing images: %w", discovery.ErrSharedRequired)
	class, _ := w.settled()
	expect(t, class, v1beta1.ConditionTypeImagesReady, "False SIGRequiredForFIPS")
	if len(class.Status.Images) > 0 {
		t.Errorf("the images are %v", class.Status.Images)
	}
	w.images, w.imagesErr = nil, nil
	class, _ = w.settled()
	expect(t, class, v1beta1.ConditionTypeImagesReady, "False ImagesNotFound")
	expect(t, class, v1beta1.ConditionTypeReady, "False UnhealthyDependents")
}

// TestRefusedAPIVersions checks that a preview version that Azure no longer serves is a problem of the class, and that the class recovers.
func TestRefusedAPIVersions(t *testing.T) {
	t.Attr("covers", "Z251")
	w := newWorld(t, nil)
	w.settled()
	for _, code := range []string{"NoRegisteredProviderFound", "InvalidApiVersionParameter"} {
		w.imagesErr = fmt.Errorf("listing images: %w", &azcore.ResponseError{StatusCode: http.StatusBadRequest, ErrorCode: code})
		class, again := w.settled()
		expect(t, class, v1beta1.ConditionTypeImagesReady, "False APIVersionRefused")
		expect(t, class, v1beta1.ConditionTypeReady, "False UnhealthyDependents")
		at := slices.IndexFunc(class.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1beta1.ConditionTypeImagesReady })
		if message := class.Status.Conditions[at].Message; !strings.Contains(message, "AKS_MACHINES_API_VERSION") || !strings.Contains(message, code) || again != time.Minute*3 {
			t.Errorf("again after %s, message %s", again, message)
		}
		w.imagesErr = nil
		class, _ = w.settled()
		expect(t, class, v1beta1.ConditionTypeReady, "True")
	}
}

func TestSubnets(t *testing.T) {
	t.Attr("covers", "Z127")
	other := strings.Replace(clusterSubnet, "/nodes", "/others", 1)
	for _, c := range []struct {
		name, cluster, subnet string
		answer                error
		want                  string
		again                 time.Duration
		fails                 bool
	}{
		{"that of the cluster", clusterSubnet, "", nil, "True", 3 * time.Minute, false},
		{"another one of its network", clusterSubnet, other, nil, "True", 3 * time.Minute, false},
		{"in other letters", clusterSubnet, strings.ToUpper(other), nil, "True", 3 * time.Minute, false},
		{"not an id", clusterSubnet, "others", nil, "False SubnetIDInvalid", 5 * time.Minute, false},
		{"another network", clusterSubnet, strings.Replace(clusterSubnet, "/mine/", "/other/", 1), nil, "False SubnetIDInvalid", 5 * time.Minute, false},
		{"another one of a network of AKS", managedSubnet, strings.Replace(managedSubnet, "aks-subnet", "others", 1), nil, "False SubnetIDInvalid", 5 * time.Minute, false},
		{"that of AKS by name", managedSubnet, managedSubnet, nil, "True", 3 * time.Minute, false},
		{"not there", clusterSubnet, other, answer(http.StatusNotFound), "False SubnetNotFound", time.Minute, false},
		{"not readable", clusterSubnet, other, answer(http.StatusForbidden), "False SubnetUnknownError", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, func(o *nodeclass.Options) { o.Subnet = c.cluster })
			w.subnets[c.subnet] = c.answer
			w.edit(func(class *v1beta1.AKSNodeClass) {
				if c.subnet != "" {
					class.Spec.VNETSubnetID = &c.subnet
				}
			})
			class, again, err := w.reconcile()
			expect(t, class, v1beta1.ConditionTypeSubnetsReady, c.want)
			if (err != nil) != c.fails || !c.fails && again != c.again {
				t.Errorf("again after %v, %v", again, err)
			}
		})
	}
}

// TestSysctlsThatTheKubeletRefuses checks that a class says so, and what to do, before a node is launched that would not join.
func TestSysctlsThatTheKubeletRefuses(t *testing.T) {
	w := newWorld(t, func(*nodeclass.Options) {})
	sysctls := func(list ...string) *v1beta1.AKSNodeClass {
		w.edit(func(c *v1beta1.AKSNodeClass) {
			c.Spec.Kubelet = &v1beta1.KubeletConfiguration{AllowedUnsafeSysctls: list}
		})
		class, _ := w.settled()
		return class
	}
	long := strings.Repeat("ä", 100_000)
	for message, list := range map[string][]string{
		`"kernel.msg* net.core.somaxconn" in spec.kubelet.allowedUnsafeSysctls: name each sysctl as a separate item`: {"net.*", "kernel.msg* net.core.somaxconn"},
		`"" and 2 more`:                      {"", " ", "a,b"},
		`"` + strings.Repeat("ä", 50) + `…"`: {long},
	} {
		class := sysctls(list...)
		expect(t, class, v1beta1.ConditionTypeValidationSucceeded, "False SysctlsInvalid")
		expect(t, class, v1beta1.ConditionTypeReady, "False UnhealthyDependents")
		at := slices.IndexFunc(class.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1beta1.ConditionTypeValidationSucceeded })
		if got := class.Status.Conditions[at].Message; !strings.Contains(got, message) || len(got) > 500 {
			t.Errorf("the message is %q, want %q", got, message)
		}
	}
	expect(t, sysctls("net.core.somaxconn", "kernel.shm*", "*"), v1beta1.ConditionTypeReady, "True")
}

func TestDiskEncryptionSets(t *testing.T) {
	t.Attr("covers", "Z128")
	const id = "/subscriptions/sub/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/mine"
	w := newWorld(t, func(o *nodeclass.Options) { o.DiskEncryptionSet = id })
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		w.encryption[id] = answer(code)
		class, again := w.settled()
		expect(t, class, v1beta1.ConditionTypeValidationSucceeded, "False DiskEncryptionSetRBACMissing")
		if again != time.Minute {
			t.Errorf("again after %v", again)
		}
	}
	w.encryption[id] = answer(http.StatusInternalServerError)
	class, _, err := w.reconcile()
	expect(t, class, v1beta1.ConditionTypeValidationSucceeded, "False DiskEncryptionSetRBACMissing")
	if err == nil {
		t.Error("no error")
	}
	w.encryption[id] = nil
	class, _ = w.settled()
	expect(t, class, v1beta1.ConditionTypeReady, "True")
}

func TestHashes(t *testing.T) {
	t.Attr("covers", "Z130")
	w := newWorld(t, nil)
	hasher := nodeclass.NewHasher(w.options)
	run := func() map[string]string {
		t.Helper()
		if _, err := hasher.Reconcile(t.Context(), request()); err != nil {
			t.Fatal(err)
		}
		return w.class().Annotations
	}
	const hash, version = "karpenter.azure.com/aksnodeclass-hash", "karpenter.azure.com/aksnodeclass-hash-version"
	first := run()
	if first[hash] != w.class().Hash() || first[version] != "v3" {
		t.Errorf("the annotations are %v", first)
	}
	w.edit(func(class *v1beta1.AKSNodeClass) { class.Spec.MaxPods = new(int32); *class.Spec.MaxPods = 50 })
	if run()[hash] == first[hash] {
		t.Error("the hash did not change")
	}

	w.edit(func(class *v1beta1.AKSNodeClass) { class.Annotations[version] = "v2" })
	for name, status := range map[string]metav1.ConditionStatus{"drifted": metav1.ConditionTrue, "same": metav1.ConditionFalse} {
		claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{hash: "old", version: "v2"}}}
		claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
		claim.Status.Conditions = []metav1.Condition{{Type: v1.ConditionTypeDrifted, Status: status, Reason: "Drifted"}}
		w.create(claim)
	}
	run()
	for name, want := range map[string]string{"drifted": "old", "same": w.class().Hash()} {
		claim := &v1.NodeClaim{}
		if err := w.client.Get(t.Context(), client.ObjectKey{Name: name}, claim); err != nil {
			t.Fatal(err)
		}
		if claim.Annotations[hash] != want || claim.Annotations[version] != "v3" {
			t.Errorf("claim %s has the annotations %v, want hash %s", name, claim.Annotations, want)
		}
	}
}

func TestDeletedClassesWaitForTheirNodeClaims(t *testing.T) {
	t.Attr("covers", "Z131")
	w := newWorld(t, nil)
	w.settled()
	var claims []*v1.NodeClaim
	for _, name := range []string{"f", "a", "c", "b", "e", "d"} {
		claim := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		claim.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1beta1.Group, Kind: "AKSNodeClass", Name: "default"}
		w.create(claim)
		claims = append(claims, claim)
	}
	if err := w.client.Delete(t.Context(), w.class()); err != nil {
		t.Fatal(err)
	}
	if _, again := w.settled(); again != 10*time.Minute {
		t.Errorf("again after %v", again)
	}
	if got := <-w.events; got != "Normal WaitingOnNodeClaimTermination Waiting on NodeClaim termination for a, b, c, d, e and 1 other(s)" {
		t.Errorf("told %q", got)
	}
	for _, claim := range claims {
		if err := w.client.Delete(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.status.Reconcile(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Get(t.Context(), request().NamespacedName, &v1beta1.AKSNodeClass{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the class is still there: %v", err)
	}
}
