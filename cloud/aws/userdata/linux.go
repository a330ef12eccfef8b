package userdata

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// renderAL2 returns an archive with the user's parts followed by a call of the bootstrap script of the image.
func renderAL2(in *Input) (string, error) {
	var parts []part
	switch {
	case strings.TrimSpace(in.Custom) == "":
	case isArchive(in.Custom):
		var err error
		if parts, err = parseArchive(in.Custom); err != nil {
			return "", err
		}
	default:
		parts = []part{newPart(typeShell, in.Custom)}
	}
	script, err := in.bootstrapScript()
	if err != nil {
		return "", err
	}
	return archive(append(parts, newPart(typeShell, script)))
}

// bootstrapScript calls the script of the image.
func (in *Input) bootstrapScript() (string, error) {
	flags, err := in.kubeletFlags()
	if err != nil {
		return "", err
	}
	call := "/etc/eks/bootstrap.sh " + shell(in.ClusterName) + " --apiserver-endpoint " + shell(in.Endpoint)
	if in.CABundle != "" {
		call += " --b64-cluster-ca " + shell(in.CABundle)
	}
	lines := []string{call}
	if in.ipv6() {
		lines = append(lines, "--ip-family ipv6")
	}
	if dns := in.firstDNS(); dns != "" {
		lines = append(lines, "--dns-cluster-ip "+shell(dns))
	}
	if in.MaxPods != nil {
		lines = append(lines, "--use-max-pods false")
	}
	lines = append(lines, "--kubelet-extra-args "+shell(flags))
	if in.RAID0 {
		lines = append(lines, "--local-disks raid0")
	}
	return "#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n" + strings.Join(lines, " \\\n"), nil
}

// renderAL2023 returns an archive with the user's parts followed by a NodeConfig: the image merges them in order, so that
// Karpenter's settings take precedence.
func renderAL2023(in *Input) (string, error) {
	var parts []part
	switch {
	case strings.TrimSpace(in.Custom) == "":
	case isArchive(in.Custom):
		raw, err := parseArchive(in.Custom)
		if err != nil {
			return "", err
		}
		for _, p := range raw {
			p, err := p.plain()
			if err != nil {
				return "", err
			}
			parts = append(parts, p)
		}
	case isMapping(in.Custom):
		parts = []part{newPart(typeNodeConfig, in.Custom)}
	default:
		parts = []part{newPart(typeShell, in.Custom)}
	}
	config, err := in.nodeConfig()
	if err != nil {
		return "", err
	}
	return archive(append(parts, newPart(typeNodeConfig, config)))
}

// isMapping reports whether a text is a YAML mapping; one with only comments is.
func isMapping(text string) bool {
	var mapping map[string]any
	return yaml.Unmarshal([]byte(text), &mapping) == nil
}

// nodeConfig is the document with which the image joins the cluster.
func (in *Input) nodeConfig() (string, error) {
	if in.ClusterCIDR == "" {
		return "", ErrNoClusterCIDR
	}
	cluster := map[string]any{"name": in.ClusterName, "apiServerEndpoint": in.Endpoint, "cidr": in.ClusterCIDR}
	if in.CABundle != "" {
		cluster["certificateAuthority"] = in.CABundle
	}
	storage := map[string]any{}
	if in.RAID0 {
		storage["strategy"] = "RAID0"
	}
	kubelet := map[string]any{"config": in.kubeletConfig()}
	if len(in.Labels) > 0 {
		flag, err := labelFlag(in.Labels)
		if err != nil {
			return "", err
		}
		kubelet["flags"] = []string{flag}
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "metadata": map[string]any{},
		"spec": map[string]any{
			"cluster": cluster, "containerd": map[string]any{}, "instance": map[string]any{"localStorage": storage}, "kubelet": kubelet,
		},
	})
	if err != nil {
		return "", fmt.Errorf("encoding the NodeConfig: %w", err)
	}
	return "# Karpenter Generated NodeConfig\n" + string(text), nil
}

// kubeletConfig is the kubelet block with evaluated values in place of expressions.
func (in *Input) kubeletConfig() map[string]any {
	config := map[string]any{}
	for name, value := range in.KubeletBlock {
		config[name] = json.RawMessage(value.Raw)
	}
	for _, field := range []struct {
		name  string
		value any
		set   bool
	}{
		{"maxPods", in.MaxPods, in.MaxPods != nil},
		{"kubeReserved", in.Kubelet.KubeReserved, len(in.Kubelet.KubeReserved) > 0},
		{"systemReserved", in.Kubelet.SystemReserved, len(in.Kubelet.SystemReserved) > 0},
		{"clusterDNS", in.ClusterDNS, len(in.ClusterDNS) > 0},
		{"registerWithTaints", in.Taints, len(in.Taints) > 0},
	} {
		delete(config, field.name)
		if field.set {
			config[field.name] = field.value
		}
	}
	return config
}
