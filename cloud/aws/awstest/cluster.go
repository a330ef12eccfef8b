package awstest

import "net/http"

// Cluster is the EKS cluster.
type Cluster struct {
	Name, Endpoint, Version          string
	ServiceIPv4CIDR, ServiceIPv6CIDR string
}

// SetCluster changes the cluster.
func (a *Account) SetCluster(c Cluster) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cluster = c
}

func describeCluster(a *Account, f *form) (any, error) {
	c := a.cluster
	if f.body != c.Name {
		return nil, &apiError{status: http.StatusNotFound, code: "ResourceNotFoundException", message: "No cluster found for name: " + f.body + "."}
	}
	network := map[string]string{}
	for key, value := range map[string]string{"serviceIpv4Cidr": c.ServiceIPv4CIDR, "serviceIpv6Cidr": c.ServiceIPv6CIDR} {
		if value != "" {
			network[key] = value
		}
	}
	return map[string]any{"cluster": map[string]any{
		"name": c.Name, "arn": a.clusterARN(), "endpoint": c.Endpoint,
		"version": c.Version, "status": "ACTIVE", "kubernetesNetworkConfig": network,
	}}, nil
}
