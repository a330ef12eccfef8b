package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
	"github.com/karpenter-anew/karpenter/test/crdtest"
)

// objects are what commands of pages refer to, or print: with a value for everything that a command selects.
const objects = `
{apiVersion: v1, kind: Namespace, metadata: {name: argocd}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: argocd-cm, namespace: argocd}}
---
{apiVersion: v1, kind: Node, metadata: {name: worker, labels: {eks.amazonaws.com/nodegroup: OLD}}}
---
{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: default}, spec: {role: a, amiSelectorTerms: [{alias: al2023@latest}],
  kubelet: {maxPods: 58}, enclaveOptions: {enabled: true}, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]},
  status: {amis: [{id: ami-1, name: al2023, requirements: []}], subnets: [{id: subnet-1, zone: a, zoneID: a1}], securityGroups: [{id: sg-1, name: nodes}],
  capacityReservations: [{id: cr-1, instanceType: m5.large, availabilityZone: a, state: active, ownerID: "012345678901", instanceMatchCriteria: open, reservationType: default}]}}
---
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: of-the-test}, spec: {disruption: {consolidateAfter: 1m, budgets: [{nodes: "1", reasons: [Drifted, Unhealthy]}]},
  template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}}}}
---
{apiVersion: karpenter.sh/v1, kind: NodeClaim, metadata: {name: of-the-test-a}, spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}},
  status: {imageID: ami-1, conditions: [
  {type: Ready, status: "False", reason: Seeded, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"},
  {type: Initialized, status: Unknown, reason: StartupTaintsExist, message: StartupTaint, lastTransitionTime: "2026-01-01T00:00:00Z"},
  {type: Drifted, status: "True", reason: AMIDrift, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}
`

// deployments are the workloads that commands of pages scale.
var deployments = []string{"kube-system/karpenter", "kube-system/cluster-autoscaler", "default/inflate"}

// placeholders are what stands for NAME, by the word before it.
var placeholders = map[string]string{"nodepool": "of-the-test", "nodeclaim": "of-the-test-a", "node": "worker", "crd": "nodepools.karpenter.sh"}

// interactive are commands that never end, or need a pod that runs or a file of the user.
var interactive = regexp.MustCompile(`^kubectl (?:-n \S+ port-forward|kustomize)`)

// TestKubectlCommandsRun runs the lines of pages that begin with kubectl against a real API server. They must not fail, and columns and
// paths that they print must have values: a path with a typo prints nothing.
//
// Those of the page about upgrades print what version 1.14 of upstream rejects.
func TestKubectlCommandsRun(t *testing.T) {
	t.Attr("covers", "N535")
	definitions, err := awscrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, read := range []func() ([]*apiextensionsv1.CustomResourceDefinition, error){azurecrds.Definitions, kwokcrds.Definitions} {
		others, err := read()
		if err != nil {
			t.Fatal(err)
		}
		for _, crd := range others {
			if crd.Spec.Group == "karpenter.azure.com" || crd.Spec.Group == "karpenter.kwok.sh" {
				definitions = append(definitions, crd)
			}
		}
	}
	config := crdtest.Server(t, definitions)
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := writeKubeconfig(t, config)
	commands := 0
	var upgrading strings.Builder
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			if b.language != "sh" || !strings.Contains(b.text, "kubectl ") {
				continue
			}
			reset(t, c)
			if strings.HasSuffix(p.name, "upgrading.md") {
				requestReboot(t, c)
			}
			for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", " ")) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "kubectl ") && !interactive.MatchString(line) {
					commands++
					text := runKubectl(t, p.name, kubeconfig, line)
					if strings.HasSuffix(p.name, "upgrading.md") {
						upgrading.WriteString(text)
					}
				}
			}
		}
	}
	if commands < 40 {
		t.Errorf("%d commands were run", commands)
	}
	for _, want := range []string{"Drifted,Unhealthy", "map[maxPods:58]", "ENCLAVES", "REBOOTING"} {
		if !strings.Contains(upgrading.String(), want) {
			t.Errorf("no command of upgrading.md prints %s", want)
		}
	}
}

// writeKubeconfig writes a file that leads to the API server.
func writeKubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	out := clientcmdapi.NewConfig()
	out.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	out.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	out.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	out.CurrentContext = "test"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*out, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// reset removes NodePools and node classes that other commands created, whose names may be of another cloud, and creates what commands
// refer to.
func reset(t *testing.T, c client.Client) {
	t.Helper()
	for _, kind := range []struct{ version, kind string }{
		{"karpenter.sh/v1", "NodePool"},
		{"karpenter.sh/v1", "NodeClaim"},
		{"karpenter.k8s.aws/v1", "EC2NodeClass"},
		{"karpenter.azure.com/v1beta1", "AKSNodeClass"},
		{"karpenter.kwok.sh/v1alpha1", "KWOKNodeClass"},
	} {
		all := &unstructured.Unstructured{}
		all.SetAPIVersion(kind.version)
		all.SetKind(kind.kind)
		if err := c.DeleteAllOf(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	documents := strings.Split(objects, "\n---\n")
	for _, name := range deployments {
		namespace, name, _ := strings.Cut(name, "/")
		documents = append(documents, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: `+name+`, namespace: `+namespace+`}, spec: {selector: {matchLabels: {app: `+name+`}},
			template: {metadata: {labels: {app: `+name+`}}, spec: {containers: [{name: a, image: a}]}}}}`)
	}
	for _, document := range documents {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		status := o.Object["status"]
		if err := c.Create(t.Context(), o); apierrors.IsAlreadyExists(err) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if status == nil {
			continue
		}
		o.Object["status"] = status
		if err := c.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// requestReboot adds the condition that the page about reboots has its readers add by hand.
func requestReboot(t *testing.T, c client.Client) {
	t.Helper()
	claim := &unstructured.Unstructured{}
	claim.SetAPIVersion("karpenter.sh/v1")
	claim.SetKind("NodeClaim")
	claim.SetName(placeholders["nodeclaim"])
	patch := `[{"op": "add", "path": "/status/conditions/-", "value": {"type": "Rebooting", "status": "True", "reason": "RebootRequested", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}}]`
	if err := c.Status().Patch(t.Context(), claim, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// runKubectl runs a line, and returns what it prints. Watches end after the list, and output goes to no file.
func runKubectl(t *testing.T, page, kubeconfig, line string) string {
	t.Helper()
	command := regexp.MustCompile(` (?:--watch|-w|-f)(?: +#.*)?$|  +#.*$| > \S+$`).ReplaceAllString(line, "")
	for kind, name := range placeholders {
		command = strings.ReplaceAll(command, " "+kind+" NAME", " "+kind+" "+name)
	}
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+os.Getenv("KUBEBUILDER_ASSETS")+":"+os.Getenv("PATH"))
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %s: %v\n%s", page, command, err, text)
		return ""
	}
	selects := strings.Contains(command, "jsonpath") || strings.Contains(command, "custom-columns")
	if selects && (len(text) == 0 || regexp.MustCompile(`<none>|^\t|\t\t|\t\n`).Match(text)) {
		t.Errorf("%s: %s prints nothing for a part:\n%s", page, command, text)
	}
	return string(text)
}
