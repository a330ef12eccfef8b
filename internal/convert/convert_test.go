package convert_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	awsv1 "github.com/karpenter-anew/karpenter/api/aws/v1"
	"github.com/karpenter-anew/karpenter/internal/convert"
	"github.com/karpenter-anew/karpenter/internal/manifest"
)

// judge validates the output with the current definitions.
func judge(t testing.TB) *manifest.Reader {
	t.Helper()
	definitions, err := awscrds.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	r, err := manifest.NewReader(definitions, awsv1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// always returns the same reader for all classes.
func always(reader *manifest.Reader) convert.Judge {
	return func(convert.ClassReference) (*manifest.Reader, error) { return reader, nil }
}

// partsOf cuts a text into parts like a file.
func partsOf(t interface{ Fatal(...any) }, text string) []manifest.Part {
	parts, err := manifest.Parts([]string{manifest.Stdin}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// settings are those of a conversion with every setting.
func settings() convert.Settings {
	return convert.Settings{
		Role: "given-role", ClusterName: "given-cluster",
		NodeClass: &convert.ClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "given-class"},
	}
}

// drawing generates random objects, in which no two texts are equal, so that each can be identified.
type drawing struct {
	*rapid.T
	next int
}

func (d *drawing) unique(prefix string) string {
	d.next++
	return fmt.Sprintf("%s%d", prefix, d.next)
}

func (d *drawing) number() int {
	d.next++
	return 1000 + d.next
}

func (d *drawing) maybe() bool { return rapid.Bool().Draw(d.T, "there") }

// put adds a field in half of the cases.
func (d *drawing) put(into map[string]any, name string, make func() any) {
	if d.maybe() {
		into[name] = make()
	}
}

func (d *drawing) strings(prefix string) any {
	out := map[string]any{}
	for range rapid.IntRange(1, 3).Draw(d.T, "entries") {
		out[d.unique(prefix)] = d.unique("v")
	}
	return out
}

func (d *drawing) taints() any {
	t := map[string]any{"key": d.unique("taint"), "effect": "NoSchedule"}
	d.put(t, "value", func() any { return d.unique("v") })
	return []any{t, map[string]any{"key": d.unique("taint"), "value": "", "effect": "NoExecute"}}
}

func (d *drawing) requirements() any {
	var out []any
	for range rapid.IntRange(0, 3).Draw(d.T, "requirements") {
		out = append(out, map[string]any{"key": d.unique("label"), "operator": "In", "values": []any{d.unique("v"), d.unique("v")}})
	}
	return append(out, map[string]any{"key": "karpenter.sh/capacity-type", "operator": "NotIn", "values": []any{d.unique("v")}})
}

func (d *drawing) kubelet() any {
	k := map[string]any{}
	d.put(k, "maxPods", func() any { return d.number() })
	d.put(k, "clusterDNS", func() any { return []any{d.unique("dns")} })
	d.put(k, "kubeReserved", func() any { return map[string]any{"cpu": fmt.Sprintf("%dm", d.number())} })
	d.put(k, "evictionSoftGracePeriod", func() any { return map[string]any{"memory.available": fmt.Sprintf("%ds", d.number())} })
	d.put(k, "cpuCFSQuota", func() any { return d.maybe() })
	return k
}

func (d *drawing) metadata(name string) any {
	m := map[string]any{"name": name}
	d.put(m, "labels", func() any { return d.strings("l") })
	d.put(m, "annotations", func() any {
		a := d.strings("a").(map[string]any)
		a["karpenter.sh/nodepool-hash"] = d.unique("hash")
		return a
	})
	d.put(m, "uid", func() any { return d.unique("uid") })
	d.put(m, "managedFields", func() any { return []any{map[string]any{"manager": d.unique("m")}} })
	return m
}

func (d *drawing) nodeMetadata(into map[string]any) {
	d.put(into, "labels", func() any {
		l := d.strings("l").(map[string]any)
		d.put(l, "karpenter.sh/provisioner-name", func() any { return d.unique("p") })
		return l
	})
	d.put(into, "annotations", func() any {
		a := d.strings("a").(map[string]any)
		d.put(a, "karpenter.sh/do-not-evict", func() any { return d.unique("true") })
		d.put(a, "karpenter.sh/do-not-consolidate", func() any { return d.unique("true") })
		return a
	})
}

func (d *drawing) provisioner() map[string]any {
	spec := map[string]any{}
	d.nodeMetadata(spec)
	d.put(spec, "taints", d.taints)
	d.put(spec, "startupTaints", d.taints)
	d.put(spec, "requirements", d.requirements)
	d.put(spec, "kubeletConfiguration", func() any {
		k := d.kubelet().(map[string]any)
		d.put(k, "containerRuntime", func() any { return d.unique("runtime") })
		return k
	})
	switch rapid.IntRange(0, 2).Draw(d.T, "provider") {
	case 0:
		spec["provider"] = d.awsSettings()
		d.put(spec["provider"].(map[string]any), "apiVersion", func() any { return d.unique("api") })
	case 1:
		ref := map[string]any{"name": rapid.SampledFrom([]string{"template", "elsewhere"}).Draw(d.T, "ref")}
		d.put(ref, "apiVersion", func() any { return d.unique("api") })
		d.put(ref, "kind", func() any { return "AWSNodeTemplate" })
		spec["providerRef"] = ref
	}
	d.put(spec, "ttlSecondsUntilExpired", func() any { return 3600 * d.number() })
	switch rapid.IntRange(0, 3).Draw(d.T, "emptiness") {
	case 0:
		spec["ttlSecondsAfterEmpty"] = d.number()
	case 1:
		spec["consolidation"] = map[string]any{"enabled": true}
	case 2:
		spec["consolidation"] = map[string]any{"enabled": false}
	}
	d.put(spec, "limits", func() any {
		return map[string]any{"resources": map[string]any{"cpu": d.number(), "memory": fmt.Sprintf("%dGi", d.number())}}
	})
	d.put(spec, "weight", func() any { return rapid.IntRange(1, 100).Draw(d.T, "weight") })
	out := map[string]any{"apiVersion": "karpenter.sh/v1alpha5", "kind": "Provisioner", "metadata": d.metadata(d.unique("provisioner")), "spec": spec}
	d.put(out, "status", func() any { return map[string]any{"resources": map[string]any{"cpu": d.number()}} })
	return out
}

func (d *drawing) selector(id string) any {
	s := map[string]any{}
	d.put(s, "aws-ids", func() any { return d.unique(id) + "," + d.unique(id) })
	d.put(s, d.unique("tag"), func() any { return d.unique("*v") + "," + d.unique("v") })
	s[d.unique("tag")] = d.unique("v")
	return s
}

func (d *drawing) devices() any {
	return []any{map[string]any{"deviceName": d.unique("/dev/"), "ebs": map[string]any{"volumeSize": fmt.Sprintf("%dGi", d.number()), "iops": d.number(), "kmsKeyID": d.unique("key")}}}
}

func (d *drawing) metadataOptions() any {
	m := map[string]any{}
	d.put(m, "httpEndpoint", func() any { return "enabled" })
	d.put(m, "httpPutResponseHopLimit", func() any { return rapid.IntRange(1, 64).Draw(d.T, "hops") })
	d.put(m, "httpTokens", func() any { return "optional" })
	return m
}

func (d *drawing) awsSettings() map[string]any {
	spec := map[string]any{}
	d.put(spec, "instanceProfile", func() any { return d.unique("profile") })
	d.put(spec, "amiFamily", func() any {
		return rapid.SampledFrom([]string{"AL2", "Bottlerocket", "Windows2019", "Windows2022"}).Draw(d.T, "family")
	})
	d.put(spec, "amiSelector", func() any { return d.selector("ami-") })
	d.put(spec, "subnetSelector", func() any { return d.selector("subnet-") })
	d.put(spec, "securityGroupSelector", func() any { return d.selector("sg-") })
	d.put(spec, "launchTemplate", func() any { return d.unique("lt") })
	d.put(spec, "userData", func() any { return " " + d.unique("data") + "\n\n" })
	d.put(spec, "tags", func() any { return d.strings("tag") })
	d.put(spec, "blockDeviceMappings", d.devices)
	d.put(spec, "detailedMonitoring", func() any { return d.maybe() })
	d.put(spec, "context", func() any { return d.unique("context") })
	d.put(spec, "metadataOptions", d.metadataOptions)
	return spec
}

func (d *drawing) template(name string) map[string]any {
	return map[string]any{"apiVersion": "karpenter.k8s.aws/v1alpha1", "kind": "AWSNodeTemplate", "metadata": d.metadata(name), "spec": d.awsSettings()}
}

func (d *drawing) pool() map[string]any {
	meta, spec := map[string]any{}, map[string]any{}
	d.nodeMetadata(meta)
	d.put(spec, "taints", d.taints)
	d.put(spec, "requirements", d.requirements)
	d.put(spec, "kubelet", d.kubelet)
	ref := map[string]any{"name": rapid.SampledFrom([]string{"class", "elsewhere"}).Draw(d.T, "ref")}
	d.put(ref, "apiVersion", func() any { return "karpenter.k8s.aws/v1beta1" })
	d.put(ref, "kind", func() any { return "EC2NodeClass" })
	spec["nodeClassRef"] = ref
	disruption := map[string]any{}
	d.put(disruption, "consolidationPolicy", func() any { return "WhenUnderutilized" })
	d.put(disruption, "consolidateAfter", func() any { return fmt.Sprintf("%ds", d.number()) })
	d.put(disruption, "expireAfter", func() any { return fmt.Sprintf("%dh", d.number()) })
	d.put(disruption, "budgets", func() any {
		return []any{map[string]any{"nodes": fmt.Sprint(d.number()), "schedule": "@daily", "duration": fmt.Sprintf("%dm", d.number())}}
	})
	pool := map[string]any{"template": map[string]any{"metadata": meta, "spec": spec}, "disruption": disruption}
	d.put(pool, "limits", func() any { return map[string]any{"cpu": d.number()} })
	d.put(pool, "weight", func() any { return rapid.IntRange(1, 100).Draw(d.T, "weight") })
	return map[string]any{"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": d.metadata(d.unique("pool")), "spec": pool}
}

func (d *drawing) class(name string) map[string]any {
	spec := map[string]any{
		"subnetSelectorTerms":        []any{map[string]any{"id": d.unique("subnet-")}},
		"securityGroupSelectorTerms": []any{map[string]any{"tags": d.strings("tag")}},
	}
	d.put(spec, "role", func() any { return d.unique("role") })
	d.put(spec, "amiFamily", func() any {
		return rapid.SampledFrom([]string{"AL2", "AL2023", "Bottlerocket", "Windows2022"}).Draw(d.T, "family")
	})
	d.put(spec, "amiSelectorTerms", func() any { return []any{map[string]any{"name": d.unique("ami"), "owner": d.unique("owner")}} })
	d.put(spec, "associatePublicIPAddress", func() any { return d.maybe() })
	d.put(spec, "userData", func() any { return d.unique("data") })
	d.put(spec, "blockDeviceMappings", d.devices)
	d.put(spec, "metadataOptions", d.metadataOptions)
	return map[string]any{"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "metadata": d.metadata(name), "spec": spec}
}

// stream draws a few objects that belong together.
func (d *drawing) stream() []map[string]any {
	var out []map[string]any
	for range rapid.IntRange(0, 2).Draw(d.T, "provisioners") {
		out = append(out, d.provisioner())
	}
	d2 := rapid.IntRange(0, 2).Draw(d.T, "pools")
	for range d2 {
		out = append(out, d.pool())
	}
	if d.maybe() {
		out = append(out, d.template("template"))
	}
	if d.maybe() {
		out = append(out, d.class("class"))
	}
	return out
}

func textOf(t interface{ Fatal(...any) }, objects []map[string]any) string {
	var b bytes.Buffer
	for _, o := range objects {
		b.WriteString("---\n")
		text, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	return b.String()
}

// leaf is a scalar with its position.
type leaf struct{ path, text string }

func leaves(n *yaml.Node, path string) []leaf {
	var out []leaf
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			switch {
			case strings.ContainsAny(key, "./"):
				key = path + "[" + key + "]"
			case path != "":
				key = path + "." + key
			}
			out = append(out, leaves(n.Content[i+1], key)...)
		}
	case yaml.SequenceNode:
		for i, inner := range n.Content {
			out = append(out, leaves(inner, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case yaml.ScalarNode:
		out = append(out, leaf{path, n.Value})
	}
	return out
}

// speaksFor reports whether a note on a field covers a position.
func speaksFor(field, path string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// TestNoFieldDisappears checks that every value of an object is in the output or in a note that the output contains, that the
// output is valid by the current definitions, and that it does not change when it is converted again.
func TestNoFieldDisappears(t *testing.T) {
	reader := judge(t)
	rapid.Check(t, func(t *rapid.T) {
		d := &drawing{T: t}
		objects := d.stream()
		text := textOf(t, objects)
		var trees []convert.Object
		for _, o := range objects {
			one, err := yaml.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := convert.Parse(one)
			if err != nil {
				t.Fatal(err)
			}
			trees = append(trees, convert.Object{Root: tree})
		}
		var before [][]leaf
		for _, tree := range trees {
			before = append(before, leaves(tree.Root, ""))
		}
		results := convert.Convert(trees, settings())
		there := map[string]bool{}
		printed := ""
		for _, r := range results {
			for _, m := range r.Converted {
				made, err := m.YAML()
				if err != nil {
					t.Fatal(err)
				}
				printed += strings.Join(strings.Fields(strings.ReplaceAll(string(made), "\n", " ")), " ")
				for _, l := range leaves(m.Root, "") {
					there[l.text] = true
				}
			}
		}
		for i, r := range results {
			if len(r.Findings) > 0 {
				t.Fatalf("%v in\n%s", r.Findings, text)
			}
			for _, l := range before[i] {
				if !accounted(l, r.Notes, there) {
					t.Fatalf("%s: %q has disappeared from\n%s", l.path, l.text, text)
				}
			}
			for _, n := range r.Notes {
				if !strings.Contains(printed, n.Field) && !strings.Contains(n.Text, "are a separate EC2NodeClass") {
					t.Fatalf("no comment speaks of %s", n.Field)
				}
			}
		}
		files, err := convert.ConvertFiles(partsOf(t, text), settings(), always(reader))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		checkAgain(t, files, reader)
	})
}

// accounted reports whether a value is in the output or in a note. A list with commas has become separate values.
func accounted(l leaf, notes []convert.Note, there map[string]bool) bool {
	if l.path == "apiVersion" || l.path == "kind" || l.text == "" {
		return true
	}
	for _, n := range notes {
		if n.Field != "" && speaksFor(n.Field, l.path) {
			return true
		}
	}
	if there[l.text] {
		return true
	}
	for part := range strings.SplitSeq(l.text, ",") {
		if !there[part] {
			return false
		}
	}
	return true
}

// checkAgain checks that converting the output again does not change it.
func checkAgain(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, files convert.Files, reader *manifest.Reader,
) {
	var first, second bytes.Buffer
	if err := files.YAML(&first); err != nil {
		t.Fatal(err)
	}
	again, err := convert.ConvertFiles(partsOf(t, first.String()), convert.Settings{}, always(reader))
	if err != nil {
		t.Fatalf("%v in\n%s", err, &first)
	}
	if err := again.YAML(&second); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Fatalf("first\n%s\nsecond\n%s", &first, &second)
	}
	if err := again.JSON(&bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
}

// TestUnknownFieldsAreFindings checks that a field that is added anywhere in an object is reported, with its position.
func TestUnknownFieldsAreFindings(t *testing.T) {
	reader := judge(t)
	rapid.Check(t, func(t *rapid.T) {
		d := &drawing{T: t}
		o := rapid.SampledFrom([]func() map[string]any{d.provisioner, func() map[string]any { return d.template("template") }, d.pool, func() map[string]any { return d.class("class") }}).Draw(t, "kind")()
		places := closed(o, "")
		place := rapid.SampledFrom(places).Draw(t, "place")
		place["surplus"] = d.unique("v")
		text := textOf(t, []map[string]any{o})
		_, err := convert.ConvertFiles(partsOf(t, text), settings(), always(reader))
		if err == nil || !strings.Contains(err.Error(), "surplus: unknown field") {
			t.Fatalf("%v for\n%s", err, text)
		}
	})
}

// closed are the mappings of an object whose keys are defined by the API.
func closed(value any, name string) []map[string]any {
	switch name {
	case "labels", "annotations", "tags", "resources", "limits", "managedFields", "status", "kubeReserved", "evictionSoftGracePeriod",
		"amiSelector", "subnetSelector", "securityGroupSelector":
		return nil
	}
	var out []map[string]any
	switch v := value.(type) {
	case map[string]any:
		out = append(out, v)
		for _, key := range sorted(v) {
			out = append(out, closed(v[key], key)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, closed(inner, name)...)
		}
	}
	return out
}
