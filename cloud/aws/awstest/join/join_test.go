package join

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/cloud/aws/awstest"
	"github.com/karpenter-anew/karpenter/cloud/cloudtest/nodejoin"
	"github.com/karpenter-anew/karpenter/test/apiserver"
)

// Every sleep here is in a bubble of testing/synctest, where it takes no time and lets instances continue.

const (
	endpoint  = "https://cluster"
	authority = "Q0E="
	imageName = "amazon-eks-node-al2023-x86_64-standard-1.34-v1"
	role      = awstest.Role
)

// good is user data with which an instance joins.
const good = `apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: test, apiServerEndpoint: "https://cluster", certificateAuthority: Q0E=, cidr: 10.0.0.0/16}
  kubelet:
    config: {maxPods: 20, podsPerCore: 4, kubeReserved: {cpu: 200m, memory: 1Gi}, systemReserved: {memory: 512Mi}, evictionHard: {memory.available: 256Mi},
      registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}, {key: team, value: a, effect: NoSchedule}]}
    flags: ["--node-labels=\"team=a,karpenter.sh/nodepool=default\""]
`

// bed is an account with an instance, and a cluster for it.
type bed struct {
	t       *testing.T
	account *awstest.Account
	client  client.Client
	joiner  *Joiner
	id      string
	reaches int
}

// setUp launches one instance and lets it attempt to join.
func setUp(t *testing.T, userData string, edit func(*awstest.Instance)) *bed {
	t.Helper()
	b := &bed{t: t, account: awstest.New(awstest.Options{Types: []string{"m5.large"}})}
	b.client = apiserver.New().WithStatusSubresource(&corev1.Node{}).Build()
	b.account.AddImage(awstest.Image{ID: "ami-1", Name: imageName, Architecture: "x86_64"})
	b.account.AddProfile(awstest.Profile{Name: "profile", Roles: []string{role}})
	i := awstest.Instance{
		Type: "m5.large", Zone: "us-east-1a", Subnet: "subnet-a1", Image: "ami-1", Profile: "profile", Launched: time.Now(), DNS: "ip-10-0-0-1.ec2.internal",
		Address: "10.0.0.1", Data: map[string]string{"UserData": base64.StdEncoding.EncodeToString([]byte(userData))},
	}
	if edit != nil {
		edit(&i)
	}
	b.id = b.account.AddInstance(i, nil)
	b.joiner = New(Options{
		Account: b.account, Client: b.client, Cluster: "test", Roles: []string{role}, Boot: 2 * time.Second,
		Reach: func(_ context.Context, at string, ca []byte) error {
			b.reaches++
			if at != endpoint || base64.StdEncoding.EncodeToString(ca) != authority {
				return errors.New("no server answers")
			}
			return nil
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.joiner.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return b
}

// node is the Node of the instance; nil if there is none.
func (b *bed) node() *corev1.Node {
	b.t.Helper()
	var list corev1.NodeList
	if err := b.client.List(b.t.Context(), &list); err != nil {
		b.t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

func TestAnInstanceBecomesTheNodeThatItsUserDataAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, good, nil)
		time.Sleep(time.Second)
		if n := b.node(); n != nil {
			t.Fatalf("node %s is there before the instance has booted", n.Name)
		}
		time.Sleep(2 * time.Second)
		n := b.node()
		if n == nil {
			t.Fatalf("there is no node: %v", b.joiner.Refusal(b.id))
		}
		if n.Name != "ip-10-0-0-1.ec2.internal" || n.Spec.ProviderID != "aws:///us-east-1a/"+b.id || len(n.Spec.Taints) != 2 {
			t.Errorf("node %s is %s with taints %v", n.Name, n.Spec.ProviderID, n.Spec.Taints)
		}
		want := map[string]string{
			"team": "a", "karpenter.sh/nodepool": "default", corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a",
			corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", "topology.k8s.aws/zone-id": "use1-az1",
		}
		maps.DeleteFunc(want, func(key, value string) bool { return n.Labels[key] == value })
		if len(want) > 0 {
			t.Errorf("labels %v, missing %v", n.Labels, want)
		}
		// 4 pods for each of 2 cores; 8 GiB less firmware, and less 1 GiB, 512 MiB and 256 MiB.
		for name, amounts := range map[corev1.ResourceName][2]string{
			corev1.ResourcePods: {"8", "8"}, corev1.ResourceCPU: {"2", "1800m"}, corev1.ResourceMemory: {"7823Mi", "6031Mi"},
		} {
			capacity, allocatable := n.Status.Capacity[name], n.Status.Allocatable[name]
			if capacity.String() != amounts[0] || allocatable.String() != amounts[1] {
				t.Errorf("%s: %s, for pods %s, want %v", name, capacity.String(), allocatable.String(), amounts)
			}
		}
		if s, ok := b.joiner.Settings(b.id); !ok || s.MaxPods != 20 || b.reaches != 1 {
			t.Errorf("settings %+v, %t, and %d tries to reach the API server", s, ok, b.reaches)
		}
	})
}

func TestANodeOfAnIPv6ClusterIsFoundAtSuchAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, strings.Replace(good, "10.0.0.0/16", "fd00:10::/108", 1), func(i *awstest.Instance) { i.IPv6 = "2001:db8::7" })
		time.Sleep(4 * time.Second)
		n := b.node()
		if n == nil {
			t.Fatalf("there is no node: %v", b.joiner.Refusal(b.id))
		}
		if a := n.Status.Addresses[0]; a.Type != corev1.NodeInternalIP || a.Address != "2001:db8::7" {
			t.Errorf("the node is at %v", n.Status.Addresses)
		}
	})
}

func TestAnInstanceStaysOutside(t *testing.T) {
	for _, c := range []struct {
		name, from, to, because string
		edit                    func(*awstest.Instance)
	}{
		{name: "without user data", from: good, because: "nothing in the user data"},
		{name: "of another cluster", from: "name: test", to: "name: other", because: `cluster "other"`},
		{name: "that looks elsewhere for the API server", from: endpoint, to: "https://elsewhere", because: "no server answers"},
		{name: "that trusts another authority", from: authority, to: "T0U=", because: "no server answers"},
		{name: "without an IPv6 address where pods have such", from: "10.0.0.0/16", to: "fd00:10::/108", because: "no IPv6 address"},
		{name: "without profile", because: "no profile", edit: func(i *awstest.Instance) { i.Profile = "" }},
		{name: "whose profile is gone", because: "no profile", edit: func(i *awstest.Instance) { i.Profile = "gone" }},
		{name: "whose image reads something else", because: "nothing in the user data", edit: func(i *awstest.Instance) { i.Image = "ami-none" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text := good
				if c.from != "" {
					text = strings.Replace(good, c.from, c.to, 1)
				}
				b := setUp(t, text, c.edit)
				time.Sleep(time.Minute)
				if n := b.node(); n != nil {
					t.Errorf("node %s is there", n.Name)
				}
				if err := b.joiner.Refusal(b.id); err == nil || !strings.Contains(err.Error(), c.because) {
					t.Errorf("the reason is %v, want one about %q", err, c.because)
				}
			})
		})
	}
}

func TestAccessMayComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, good, func(i *awstest.Instance) { i.Profile = "late" })
		b.account.AddProfile(awstest.Profile{Name: "late", Roles: []string{"late-role"}})
		time.Sleep(10 * time.Second)
		if err := b.joiner.Refusal(b.id); err == nil || !strings.Contains(err.Error(), `role "late-role" has no access`) || b.node() != nil {
			t.Fatalf("the reason is %v", err)
		}
		b.joiner.Grant("late-role")
		time.Sleep(2 * time.Second)
		if b.node() == nil || b.joiner.Refusal(b.id) != nil {
			t.Errorf("it does not join: %v", b.joiner.Refusal(b.id))
		}
	})
}

func TestARebootGivesTheNodeAnotherBootID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, good, nil)
		time.Sleep(4 * time.Second)
		first := b.node().Status.NodeInfo.BootID
		b.account.Change(b.id, func(i *awstest.Instance) { i.Reboots++ })
		time.Sleep(time.Second)
		if second := b.node().Status.NodeInfo.BootID; first == "" || second == "" || second == first {
			t.Errorf("boot IDs %q and %q", first, second)
		}
	})
}

func TestTheNodeGoesWithItsInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := setUp(t, good, nil)
		time.Sleep(4 * time.Second)
		n := b.node()
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if err := b.client.Status().Update(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		b.account.Change(b.id, func(i *awstest.Instance) { i.State = "stopping" })
		time.Sleep(time.Second)
		if n = b.node(); n == nil || n.Status.Conditions[0].Status != corev1.ConditionUnknown || n.Annotations[nodejoin.HandsOff] == "" {
			t.Fatalf("node %+v is not unknown", n)
		}
		b.account.Vanish(b.id)
		time.Sleep(time.Second)
		if n := b.node(); n != nil {
			t.Errorf("node %s is left", n.Name)
		}
		time.Sleep(time.Minute)
		if b.node() != nil {
			t.Error("it has come back")
		}
	})
}
