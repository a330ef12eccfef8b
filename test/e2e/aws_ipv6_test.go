package e2e

import (
	"cmp"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
)

// serviceRange is the service CIDR of an IPv6 cluster.
const serviceRange = "fd00:10:96::/108"

// ipv6Case is a class, and the user data of its instances.
type ipv6Case struct {
	class func(*awsv1.EC2NodeClass)
	// dns is where names are looked up; empty for where the cluster says. prefixes is how many the interface gets; empty for none.
	dns, prefixes string
}

// ipv6Cases are the families, with and without an address for names in the class, and prefixes.
func ipv6Cases() map[string]ipv6Case {
	alias := func(name string) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) { c.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: name}} }
	}
	al2 := func(c *awsv1.EC2NodeClass) {
		family := "AL2"
		c.Spec.AMISelectorTerms, c.Spec.AMIFamily = []awsv1.AMISelectorTerm{{ID: "ami-0a12"}}, &family
	}
	const own = "fd00:53::53"
	given := func(edit func(*awsv1.EC2NodeClass)) func(*awsv1.EC2NodeClass) {
		return func(c *awsv1.EC2NodeClass) {
			edit(c)
			c.Spec.Kubelet = kubeletOf(map[string]any{"clusterDNS": []string{own}})
		}
	}
	prefixes := func(c *awsv1.EC2NodeClass) { c.Spec.IPPrefixCount = new(int32(2)) }
	return map[string]ipv6Case{
		"al2023":             {class: alias("al2023@latest")},
		"al2023-given":       {class: given(alias("al2023@latest")), dns: own},
		"al2":                {class: al2},
		"al2-given":          {class: given(al2), dns: own},
		"bottlerocket":       {class: alias("bottlerocket@latest")},
		"bottlerocket-given": {class: given(alias("bottlerocket@latest")), dns: own},
		"prefixes":           {class: prefixes, prefixes: "2"},
	}
}

// TestAWSIPv6: in a cluster with an IPv6 service CIDR, instances of every image family join with IPv6 addresses for themselves and their
// pods, and use the DNS server of the cluster, or that of the class.
func TestAWSIPv6(t *testing.T) {
	t.Attr("covers", "A368")
	t.Parallel()
	w := beginOnOwnCluster(t, "--service-range="+serviceRange)
	a := w.account("m5.large")
	w.furnish(a.Account)
	names := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-dns"}}
	if !w.get(names) || !netip.MustParsePrefix(serviceRange).Contains(netip.MustParseAddr(names.Spec.ClusterIP)) {
		t.Fatalf("the address for names is %q, want one of %s", names.Spec.ClusterIP, serviceRange)
	}
	w.controller(a.Flags()...)
	cases, pods := ipv6Cases(), map[string]int32{}
	for name, c := range cases {
		w.create(awsClass(name, c.class), awsPool(name, []string{"m5.large"}), awsPods(name, 1))
		pods[name] = 1
	}
	w.awaitCases(pods)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			nodes := w.nodesOf(a, name)
			if len(nodes) != 1 {
				t.Fatalf("%d nodes in order, want 1", len(nodes))
			}
			n := nodes[0]
			if dns := cmp.Or(c.dns, names.Spec.ClusterIP); n.boot.DNS != dns {
				t.Errorf("names are looked up at %q, want %q", n.boot.DNS, dns)
			}
			if !n.boot.IPv6 {
				t.Error("the user data does not say that pods have IPv6 addresses")
			}
			if cidr := n.boot.ServiceCIDR; cidr != "" && cidr != serviceRange {
				t.Errorf("the service CIDR is %s", cidr)
			}
			if at, err := netip.ParseAddr(internalAddress(&n.Node)); err != nil || !at.Is6() {
				t.Errorf("the node is at %v", n.Status.Addresses)
			}
			for key, want := range map[string]string{"PrimaryIpv6": "true", "Ipv6AddressCount": "1", "Ipv6PrefixCount": c.prefixes, "Ipv4PrefixCount": ""} {
				if got := n.instance.Data["NetworkInterface.1."+key]; got != want {
					t.Errorf("%s of the interface is %q, want %q", key, got, want)
				}
			}
		})
	}
}

// internalAddress is where a node is found inside of the network; empty if it does not say.
func internalAddress(node *corev1.Node) string {
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}
