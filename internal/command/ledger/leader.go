package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenter-anew/karpenter/internal/options"
)

// leader is the replica of the controller that decides.
type leader struct {
	namespace, pod string
	// port is where it serves the console; public is set if that is not on the loopback interface, so that it has TLS and asks for a token.
	port   string
	public bool
}

// findLeader finds the replica that holds a lease. An empty namespace stands for all of them.
func findLeader(ctx context.Context, client kubernetes.Interface, namespace, name string) (leader, error) {
	lease, err := findLease(ctx, client, namespace, name)
	if err != nil {
		return leader{}, err
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	if holder == "" {
		return leader{}, fmt.Errorf("no replica of the controller is the leader at the moment: nothing holds the lease %q in namespace %q", name, lease.Namespace)
	}
	pod, err := podOf(ctx, client, lease.Namespace, holder)
	if err != nil {
		return leader{}, err
	}
	address := consoleAddress(pod)
	host, port, err := net.SplitHostPort(address)
	if address == "" || err != nil {
		return leader{}, fmt.Errorf("the leader, pod %q in namespace %q, does not serve its records: set --console-addr (settings.consoleAddr of the chart), or read "+
			"its --ledger-dir with --dir", pod.Name, pod.Namespace)
	}
	ip := net.ParseIP(host)
	return leader{namespace: pod.Namespace, pod: pod.Name, port: port, public: host != "localhost" && (ip == nil || !ip.IsLoopback())}, nil
}

// findLease finds the lease of the controller.
func findLease(ctx context.Context, client kubernetes.Interface, namespace, name string) (*coordinationv1.Lease, error) {
	found, err := client.CoordinationV1().Leases(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	switch {
	case apierrors.IsForbidden(err) && namespace == "":
		return nil, fmt.Errorf("you may not list leases in all namespaces: name the namespace of the controller with --controller-namespace: %w", err)
	case err != nil:
		return nil, fmt.Errorf("looking for the lease of the controller: %w", err)
	}
	switch len(found.Items) {
	case 0:
		return nil, fmt.Errorf("there is no lease %q %s, so no controller is running there with leader election: name the lease with --leader-election-name, or "+
			"the address with --address", name, cmp.Or(strings.TrimSuffix(fmt.Sprintf("in namespace %q", namespace), `in namespace ""`), "in any namespace"))
	case 1:
		return &found.Items[0], nil
	}
	var namespaces []string
	for i := range found.Items {
		namespaces = append(namespaces, found.Items[i].Namespace)
	}
	return nil, fmt.Errorf("controllers have a lease %q in the namespaces %s: choose one with --controller-namespace", name, strings.Join(namespaces, ", "))
}

// podOf is the pod that holds a lease. Its identity begins with the name of its host: that of the pod, or of its node if it has the network of the node.
func podOf(ctx context.Context, client kubernetes.Interface, namespace, holder string) (*corev1.Pod, error) {
	host, _, _ := strings.Cut(holder, "_")
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, host, metav1.GetOptions{})
	switch {
	case err == nil:
		return pod, nil
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading the pod of the leader: %w", err)
	}
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("looking for the pod of the leader: %w", err)
	}
	at := slices.IndexFunc(pods.Items, func(p corev1.Pod) bool {
		return p.Spec.HostNetwork && consoleAddress(&p) != "" && (p.Spec.NodeName == host || strings.HasPrefix(p.Spec.NodeName, host+"."))
	})
	if at < 0 {
		return nil, fmt.Errorf("the lease is held by %q, and namespace %q has no pod of that name: the controller runs elsewhere; name its address with --address", holder, namespace)
	}
	return &pods.Items[at], nil
}

// consoleAddress is --console-addr of the controller in a pod; empty if it is not set.
func consoleAddress(pod *corev1.Pod) string {
	const flag = "--console-addr"
	for _, c := range pod.Spec.Containers {
		words := slices.Concat(c.Command, c.Args)
		for i, word := range words {
			if value, ok := strings.CutPrefix(word, flag+"="); ok {
				return value
			}
			if word == flag && i+1 < len(words) {
				return words[i+1]
			}
		}
	}
	for _, c := range pod.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == "CONSOLE_ADDR" && e.Value != "" {
				return e.Value
			}
		}
	}
	return ""
}

// checkSource reports flags about the source of records that contradict each other.
func (c *Command) checkSource() error {
	where := "--dir"
	if c.Address != "" {
		where = "--address"
	}
	switch live := c.Access.Given() || c.ControllerNamespace != ""; {
	case (c.Dir != "" || c.Address != "") && live:
		return errors.New(where + " replaces a live cluster: leave out the flags that choose one, such as --kubeconfig, --context and --controller-namespace")
	case c.Dir != "" && (c.TokenFile != "" || c.Authority != "" || c.Insecure):
		return errors.New("--token-file, --certificate-authority and --insecure-skip-tls-verify are not for --dir")
	case c.Dir == "" && c.Address == "" && c.LeaseName == "":
		return &options.ValueError{Flag: "leader-election-name", Reason: "must be the name of a lease"}
	}
	return c.Access.Check()
}
