//! The cells of Services and of what is behind and before them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cells::{NONE, UNSET, each, few, list, number, or_none, size, text};

pub(super) fn service_cluster_ip(service: &Value, _: Timestamp) -> Value {
    let first = list(service, "/spec/clusterIPs").next().unwrap_or(&service["spec"]["clusterIP"]);
    json!(text(first, NONE))
}

pub(super) fn service_external_ip(service: &Value, _: Timestamp) -> Value {
    let spec = &service["spec"];
    let external = each(&spec["externalIPs"], "", "");
    json!(match spec["type"].as_str().unwrap_or_default() {
        "ExternalName" => text(&spec["externalName"], ""),
        "LoadBalancer" => {
            let balanced = load_balancer(service);
            let all: Vec<String> = [balanced, external].into_iter().filter(|part| !part.is_empty()).collect();
            or_none(all.join(","), "<pending>")
        }
        _ => or_none(external, NONE),
    })
}

fn load_balancer(object: &Value) -> String {
    let points = list(object, "/status/loadBalancer/ingress");
    let shown: Vec<String> = points.map(|point| text(&point["ip"], &text(&point["hostname"], ""))).collect();
    shown.join(",")
}

pub(super) fn service_ports(service: &Value, _: Timestamp) -> Value {
    let ports = list(service, "/spec/ports").map(|port| {
        let node = match number(port, "/nodePort") {
            0 => String::new(),
            node => format!(":{node}"),
        };
        format!("{}{node}/{}", number(port, "/port"), text(&port["protocol"], "TCP"))
    });
    json!(or_none(ports.collect::<Vec<_>>().join(","), NONE))
}

pub(super) fn ingress_hosts(ingress: &Value, _: Timestamp) -> Value {
    let hosts = list(ingress, "/spec/rules").map(|rule| text(&rule["host"], ""));
    let hosts: Vec<String> = hosts.filter(|host| !host.is_empty()).collect();
    json!(few(&hosts, ",", "*"))
}

pub(super) fn ingress_address(ingress: &Value, _: Timestamp) -> Value {
    json!(load_balancer(ingress))
}

pub(super) fn ingress_ports(ingress: &Value, _: Timestamp) -> Value {
    json!(if list(ingress, "/spec/tls").next().is_some() { "80, 443" } else { "80" })
}

pub(super) fn ingress_class_parameters(class: &Value, _: Timestamp) -> Value {
    let parameters = &class["spec"]["parameters"];
    let group = text(&parameters["apiGroup"], "");
    let dot = if group.is_empty() { "" } else { "." };
    json!(match parameters.is_null() {
        true => NONE.to_owned(),
        false => format!("{}{dot}{group}/{}", text(&parameters["kind"], ""), text(&parameters["name"], "")),
    })
}

pub(super) fn endpoints(endpoints: &Value, _: Timestamp) -> Value {
    let mut all = Vec::new();
    for subset in list(endpoints, "/subsets") {
        let addresses = || list(subset, "/addresses").map(|address| text(&address["ip"], ""));
        if size(&subset["ports"]) == 0 {
            all.extend(addresses());
        }
        for port in list(subset, "/ports") {
            let port = number(port, "/port");
            all.extend(addresses().map(|ip| match ip.contains(':') {
                true => format!("[{ip}]:{port}"),
                false => format!("{ip}:{port}"),
            }));
        }
    }
    json!(few(&all, ",", NONE))
}

pub(super) fn slice_ports(slice: &Value, _: Timestamp) -> Value {
    let ports: Vec<String> = list(slice, "/ports").map(|port| text(&port["port"], "*")).collect();
    json!(few(&ports, ",", UNSET))
}

pub(super) fn slice_endpoints(slice: &Value, _: Timestamp) -> Value {
    let addresses = list(slice, "/endpoints").flat_map(|endpoint| list(endpoint, "/addresses"));
    let addresses: Vec<String> = addresses.map(|address| text(address, "")).collect();
    json!(few(&addresses, ",", UNSET))
}
