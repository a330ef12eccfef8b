package firstboot

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// nodeConfig is the part of the document of nodeadm that user data contains.
type nodeConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Cluster struct {
			Name                 string `json:"name"`
			APIServerEndpoint    string `json:"apiServerEndpoint"`
			CertificateAuthority string `json:"certificateAuthority"`
			CIDR                 string `json:"cidr"`
		} `json:"cluster"`
		Containerd   map[string]any  `json:"containerd"`
		FeatureGates map[string]bool `json:"featureGates"`
		Instance     struct {
			LocalStorage struct {
				Strategy string `json:"strategy"`
			} `json:"localStorage"`
		} `json:"instance"`
		Kubelet struct {
			Config map[string]any `json:"config"`
			Flags  []string       `json:"flags"`
		} `json:"kubelet"`
	} `json:"spec"`
}

// kubeletConfig are the fields of the kubelet configuration that are visible on a node.
type kubeletConfig struct {
	ClusterDNS         []string          `json:"clusterDNS"`
	MaxPods            int64             `json:"maxPods"`
	PodsPerCore        int64             `json:"podsPerCore"`
	KubeReserved       map[string]string `json:"kubeReserved"`
	SystemReserved     map[string]string `json:"systemReserved"`
	EvictionHard       map[string]string `json:"evictionHard"`
	RegisterWithTaints []corev1.Taint    `json:"registerWithTaints"`
}

// readNodeConfigs runs the scripts and merges the documents; later documents override earlier ones.
func readNodeConfigs(userData string) (Settings, error) {
	parts, err := pieces(userData)
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	config, documents := map[string]any{}, 0
	for _, p := range parts {
		switch {
		case p.kind == typeShell && strings.HasPrefix(strings.TrimSpace(p.text), "#!"):
			s.Ran = append(s.Ran, strings.TrimSpace(p.text))
		case p.kind == typeNodeConfig:
			var d nodeConfig
			if err := yaml.UnmarshalStrict([]byte(p.text), &d); err != nil {
				return Settings{}, fmt.Errorf("decoding a NodeConfig: %w", err)
			}
			if d.Kind == "" && d.APIVersion == "" && len(d.Spec.Kubelet.Config) == 0 {
				continue // nothing but comments
			}
			if d.APIVersion != "node.eks.aws/v1alpha1" || d.Kind != "NodeConfig" {
				return Settings{}, fmt.Errorf("a document is a %s of %s", d.Kind, d.APIVersion)
			}
			documents++
			if err := s.mergeNodeConfig(d, config); err != nil {
				return Settings{}, err
			}
		}
	}
	if documents == 0 {
		return Settings{}, errNoJoin
	}
	if s.Endpoint == "" || s.Authority == "" || s.ServiceCIDR == "" {
		return Settings{}, errors.New("endpoint, authority and range of services of the cluster have to be there")
	}
	return s, s.applyKubeletConfig(config)
}

// mergeNodeConfig merges a document into the settings; config collects the kubelet configuration.
func (s *Settings) mergeNodeConfig(d nodeConfig, config map[string]any) error {
	for _, field := range []struct {
		to   *string
		from string
	}{
		{&s.Cluster, d.Spec.Cluster.Name},
		{&s.Endpoint, d.Spec.Cluster.APIServerEndpoint},
		{&s.Authority, d.Spec.Cluster.CertificateAuthority},
		{&s.ServiceCIDR, d.Spec.Cluster.CIDR},
	} {
		if field.from != "" {
			*field.to = field.from
		}
	}
	s.RAID0 = s.RAID0 || d.Spec.Instance.LocalStorage.Strategy == "RAID0"
	s.IPv6 = strings.Contains(s.ServiceCIDR, ":")
	maps.Copy(config, d.Spec.Kubelet.Config)
	for _, flags := range d.Spec.Kubelet.Flags {
		if err := s.kubeletFlags(flags); err != nil {
			return err
		}
	}
	return nil
}

// applyKubeletConfig reads the kubelet configuration. Flags take precedence, except for labels and taints, which no image sets in both.
func (s *Settings) applyKubeletConfig(config map[string]any) error {
	text, err := yaml.Marshal(config)
	if err != nil {
		return fmt.Errorf("encoding the kubelet's configuration: %w", err)
	}
	var k kubeletConfig
	if err := yaml.Unmarshal(text, &k); err != nil {
		return fmt.Errorf("the kubelet does not start: %w", err)
	}
	s.MaxPods, s.PodsPerCore = k.MaxPods, k.PodsPerCore
	s.KubeReserved, s.SystemReserved, s.EvictionHard = k.KubeReserved, k.SystemReserved, k.EvictionHard
	s.Taints = append(s.Taints, k.RegisterWithTaints...)
	if len(k.ClusterDNS) > 0 {
		s.DNS = k.ClusterDNS[0]
	}
	return nil
}
