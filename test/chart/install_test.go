package chart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-anew/karpenter/test/controlplane"
	"github.com/karpenter-anew/karpenter/test/process"
)

// patience limits waits that take a second or two on an idle host.
const patience = 40 * time.Second

// installed is a cluster in which a release is installed.
type installed struct {
	t          *testing.T
	release    release
	kubeconfig string // the administrator's
	authority  []byte // of the API server's certificate, in PEM
	client     client.Client
	clients    *kubernetes.Clientset
	recorder   *recorder
	// controller is nil before start.
	controller *process.Process
}

// begin starts a cluster with RBAC. Its API server runs the admission plugin OwnerReferencesPermissionEnforcement, as OpenShift does.
func begin(t *testing.T) *installed {
	t.Helper()
	plane, err := controlplane.Start(t.Context(), "", nil, "--admission=OwnerReferencesPermissionEnforcement")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	w := &installed{t: t, kubeconfig: plane.Kubeconfig, authority: config.CAData, recorder: record(t, config)}
	if w.client, err = client.New(config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if w.clients, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return w
}

// install puts the definitions and the objects of a release into the cluster, as Helm does, without hooks, and the definitions of earlier APIs.
func (w *installed) install(r release) {
	w.t.Helper()
	w.release = r
	for _, folder := range []string{r.chart + "/crds", crdChart + "/definitions/legacy"} {
		names, err := filepath.Glob(folder + "/*.yaml")
		if err != nil || len(names) == 0 {
			w.t.Fatalf("%s has no definitions: %v", folder, err)
		}
		for _, name := range names {
			w.apply(read(w.t, name))
		}
	}
	w.apply(r.manifest(w.t))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// apply creates the objects of a manifest. Kinds that were defined a moment ago may take one to be served.
func (w *installed) apply(manifest string) {
	w.t.Helper()
	documents := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		var o unstructured.Unstructured
		if err := documents.Decode(&o); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			w.t.Fatal(err)
		}
		if len(o.Object) == 0 || o.GetAnnotations()[hook] != "" {
			continue
		}
		w.await(fmt.Sprintf("%s %s is there", o.GetKind(), o.GetName()), func() string {
			err := w.client.Create(w.t.Context(), &o)
			if err != nil && !meta.IsNoMatchError(err) {
				w.t.Fatalf("creating %s %s: %v", o.GetKind(), o.GetName(), err)
			}
			return obstacle(err)
		})
	}
}

func obstacle(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// await polls until look returns ""; any other text names the obstacle.
func (w *installed) await(what string, look func() (obstacle string)) {
	w.t.Helper()
	var seen string
	err := wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		if w.controller != nil && w.controller.Ended() {
			return false, fmt.Errorf("the controller ended: %s", w.controller.State())
		}
		seen = look()
		return seen == "", nil
	})
	if err != nil {
		w.t.Fatalf("waited up to %s for this: %s: %v; last seen: %s; refused: %q", patience, what, err, seen, w.recorder.refused())
	}
}

// start runs the binary as the kubelet would run the container of the release's Deployment.
func (w *installed) start() {
	w.t.Helper()
	w.run(the[*appsv1.Deployment](w.t, w.release.objects(w.t), "").Spec.Template.Spec)
}

// run runs the binary as the kubelet would: the container's arguments and environment, and the token of its service account.
func (w *installed) run(pod corev1.PodSpec) {
	w.t.Helper()
	container := pod.Containers[0]
	kubeconfig := filepath.Join(w.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(w.access(pod.ServiceAccountName), kubeconfig); err != nil {
		w.t.Fatal(err)
	}
	// The token has a fixed path in a container; these two variables replace it.
	environment := []string{"KUBECONFIG=" + kubeconfig, "LEADER_ELECTION_NAMESPACE=" + w.release.namespace}
	for _, v := range container.Env {
		value, err := w.resolve(v, container.Resources)
		if err != nil {
			w.t.Fatal(err)
		}
		environment = append(environment, v.Name+"="+value)
	}
	var log bytes.Buffer
	var err error
	if w.controller, err = process.Start(binary(w.t), container.Args, environment, &log); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := w.controller.Kill(); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			text := log.String()
			w.t.Logf("the log of the controller ends with:\n%s", text[max(0, len(text)-8000):])
		}
	})
}

// access is a kubeconfig for a service account, by way of the recorder.
func (w *installed) access(account string) clientcmdapi.Config {
	w.t.Helper()
	token, err := w.clients.CoreV1().ServiceAccounts(w.release.namespace).CreateToken(w.t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	out := clientcmdapi.NewConfig()
	out.Clusters["it"] = &clientcmdapi.Cluster{Server: w.recorder.server.URL, CertificateAuthorityData: w.recorder.certificate()}
	out.AuthInfos["it"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	out.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	out.CurrentContext = "it"
	return *out
}

// resolve is the value of a variable as the kubelet works it out.
func (w *installed) resolve(v corev1.EnvVar, resources corev1.ResourceRequirements) (string, error) {
	switch {
	case v.ValueFrom == nil:
		return v.Value, nil
	case v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.FieldPath == "metadata.namespace":
		return w.release.namespace, nil
	case v.ValueFrom.ResourceFieldRef != nil && v.ValueFrom.ResourceFieldRef.Resource == "requests.cpu":
		return fmt.Sprint(resources.Requests.Cpu().MilliValue()), nil
	case v.ValueFrom.ResourceFieldRef != nil && v.ValueFrom.ResourceFieldRef.Resource == "limits.memory":
		return fmt.Sprint(resources.Limits.Memory().Value()), nil
	}
	return "", fmt.Errorf("variable %s comes from where this test knows nothing of", v.Name)
}

// binary is the path of the built program.
func binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("KARPENTER_BIN"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "karpenter")
	build := exec.Command("go", "build", "-o", path, "./cmd/karpenter")
	build.Dir = "../.."
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, text)
	}
	return path
}

// freePorts are ports that no process listens on.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var out []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // all at once, so that they differ
		out = append(out, l.Addr().(*net.TCPAddr).Port)
	}
	return out
}

// list counts objects of a kind, those that match.
func (w *installed) list(ctx context.Context, apiVersion, kind string, match func(unstructured.Unstructured) bool) int {
	w.t.Helper()
	var all unstructured.UnstructuredList
	all.SetAPIVersion(apiVersion)
	all.SetKind(kind)
	if err := w.client.List(ctx, &all); err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, o := range all.Items {
		if match == nil || match(o) {
			n++
		}
	}
	return n
}
