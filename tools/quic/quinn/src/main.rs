// SPDX-License-Identifier: GPL-2.0

//! One QUIC flow by quinn: the words of a flow and the records are flowgen's
//! (docs/quic.md). The sender is the client and writes one stream.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, ServerConfig, TransportConfig, VarInt,
};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use serde_json::{json, Value};

const PROTOCOL: &[u8] = b"hetlab";
const PIECE_BYTES: usize = 65536;
const KEYS: [&str; 16] = [
    "t0",
    "until",
    "sample_ms",
    "out",
    "cert",
    "key",
    "role",
    "addr",
    "cc",
    "id",
    "port",
    "mtu",
    "start",
    "duration",
    "bytes",
    "window",
];

fn fail(code: i32, text: &str) -> ! {
    eprintln!("quinn: {text}");
    exit(code)
}

/// CLOCK_MONOTONIC, in seconds.
fn now() -> f64 {
    let mut ts = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: ts is a timespec of our own, and the clock exists on Linux
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut ts) };
    ts.tv_sec as f64 + ts.tv_nsec as f64 * 1e-9
}

async fn sleep_until(t: f64) {
    tokio::time::sleep(Duration::from_secs_f64((t - now()).max(0.0))).await;
}

struct Flow {
    words: HashMap<String, String>,
    out: Mutex<File>,
    received: AtomicU64,
    connection: Mutex<Option<Connection>>,
    endpoint: Mutex<Option<Endpoint>>,
}

impl Flow {
    fn parse() -> Flow {
        let mut words = HashMap::new();
        for pair in std::env::args()
            .skip(1)
            .flat_map(|word| word.split(',').map(String::from).collect::<Vec<_>>())
        {
            let (key, value) = pair.split_once('=').unwrap_or((&pair, ""));
            if !KEYS.contains(&key) {
                fail(2, &format!("{pair}: no such key"));
            }
            words.insert(key.to_string(), value.to_string());
        }
        let Some(out) = words.get("out") else {
            fail(
                2,
                "usage: quinn t0=S,out=FILE,role=send|recv,id=N,port=N,... (docs/quic.md)",
            )
        };
        let out = File::create(out).unwrap_or_else(|e| fail(1, &format!("{out}: {e}")));
        Flow {
            words,
            out: Mutex::new(out),
            received: AtomicU64::new(0),
            connection: Mutex::new(None),
            endpoint: Mutex::new(None),
        }
    }

    fn text(&self, key: &str) -> &str {
        self.words.get(key).map(String::as_str).unwrap_or("")
    }

    fn number(&self, key: &str, default: f64) -> f64 {
        let Some(text) = self.words.get(key) else {
            return default;
        };
        match text.parse::<f64>() {
            Ok(n) if n >= 0.0 => n,
            _ => fail(2, &format!("{key}={text}: a number of at least 0")),
        }
    }

    fn sends(&self) -> bool {
        match self.text("role") {
            "send" => true,
            "recv" => false,
            other => fail(2, &format!("role={other}: send or recv")),
        }
    }

    /// What fits into an IP packet: version 4 or 6 without extensions, and UDP.
    fn datagram_bytes(&self) -> u16 {
        self.number("mtu", 1500.0) as u16
            - if self.text("addr").contains(':') {
                48
            } else {
                28
            }
    }

    fn congestion(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self.text("cc") {
            "" | "cubic" => Arc::new(CubicConfig::default()),
            "reno" => Arc::new(NewRenoConfig::default()),
            "bbr" => Arc::new(BbrConfig::default()),
            other => fail(2, &format!("cc={other}: quinn has reno, cubic, bbr")),
        }
    }

    fn transport(&self) -> Arc<TransportConfig> {
        let window = VarInt::from_u32(self.number("window", f64::from(1 << 26)) as u32);
        let mut config = TransportConfig::default();
        config
            .initial_mtu(self.datagram_bytes())
            .mtu_discovery_config(None)
            .enable_segmentation_offload(false)
            .max_idle_timeout(None)
            .stream_receive_window(window)
            .receive_window(window)
            .send_window(window.into_inner())
            .congestion_controller_factory(self.congestion());
        Arc::new(config)
    }

    fn write(&self, kind: &str, more: Value) {
        let mut line = json!({"type": kind, "id": self.number("id", 0.0) as u32});
        line["t"] = json!(((now() - self.number("t0", 0.0)) * 1e6).round() / 1e6);
        for (key, value) in more.as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        let mut out = self.out.lock().unwrap();
        writeln!(out, "{line}").unwrap_or_else(|e| fail(1, &e.to_string()));
    }

    /// What quinn tells of the sender's connection, under flowgen's names.
    fn stats(&self) -> Value {
        let connection = self.connection.lock().unwrap();
        let Some(connection) = connection.as_ref() else {
            return json!({"bytes_sent": 0});
        };
        let stats = connection.stats();
        let path = stats.path;
        json!({
            "cwnd": path.cwnd as f64 / f64::from(path.current_mtu.max(1)), "cwnd_bytes": path.cwnd,
            "srtt_us": path.rtt.as_micros() as u64, "min_rtt_us": path.min_rtt.as_micros() as u64,
            "bytes_sent": stats.udp_tx.bytes, "bytes_retrans": path.lost_bytes, "total_retrans": path.lost_packets,
        })
    }

    async fn sample(&self) {
        let step = self.number("sample_ms", 100.0) / 1e3;
        let mut n = 0.0;
        while step > 0.0 {
            sleep_until(self.number("t0", 0.0) + n * step).await;
            if self.sends() {
                self.write("sample", self.stats());
            } else {
                self.write(
                    "rsample",
                    json!({"bytes_received": self.received.load(Ordering::Relaxed)}),
                );
            }
            n += 1.0;
        }
        std::future::pending::<()>().await
    }

    async fn send(&self) -> Result<&'static str, String> {
        let any: IpAddr = if self.text("addr").contains(':') {
            Ipv6Addr::UNSPECIFIED.into()
        } else {
            Ipv4Addr::UNSPECIFIED.into()
        };
        let to: IpAddr = self
            .text("addr")
            .parse()
            .unwrap_or_else(|_| fail(2, "addr: an address"));
        let mut endpoint = Endpoint::client(SocketAddr::new(any, 0)).map_err(|e| e.to_string())?;
        endpoint.set_default_client_config(self.client());
        *self.endpoint.lock().unwrap() = Some(endpoint.clone());
        let to = SocketAddr::new(to, self.number("port", 0.0) as u16);
        let connecting = endpoint.connect(to, "hetlab").map_err(|e| e.to_string())?;
        let connection = connecting.await.map_err(|e| e.to_string())?;
        *self.connection.lock().unwrap() = Some(connection.clone());
        let cc = if self.text("cc").is_empty() {
            "cubic"
        } else {
            self.text("cc")
        };
        self.write("start", json!({"cc": cc}));
        let mut stream = connection.open_uni().await.map_err(|e| e.to_string())?;
        let (piece, bytes) = (vec![0; PIECE_BYTES], self.number("bytes", 0.0) as usize);
        let mut left = bytes;
        while bytes == 0 || left > 0 {
            let size = if bytes == 0 {
                PIECE_BYTES
            } else {
                PIECE_BYTES.min(left)
            };
            stream
                .write_all(&piece[..size])
                .await
                .map_err(|e| e.to_string())?;
            left = left.saturating_sub(size);
        }
        stream.finish().map_err(|e| e.to_string())?;
        match connection.closed().await {
            ConnectionError::ApplicationClosed(_) => Ok("bytes"),
            other => Err(other.to_string()),
        }
    }

    fn client(&self) -> ClientConfig {
        let mut tls = rustls::ClientConfig::builder()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody))
            .with_no_client_auth();
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        let tls = QuicClientConfig::try_from(tls).unwrap_or_else(|e| fail(1, &e.to_string()));
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(self.transport());
        config
    }

    fn server(&self) -> Result<ServerConfig, Box<dyn std::error::Error>> {
        let cert = std::fs::read(self.text("cert"))?;
        let key = std::fs::read(self.text("key"))?;
        let chain = rustls_pemfile::certs(&mut cert.as_slice()).collect::<Result<Vec<_>, _>>()?;
        let key = rustls_pemfile::private_key(&mut key.as_slice())?.ok_or("no key")?;
        let mut tls = rustls::ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        let tls = quinn::crypto::rustls::QuicServerConfig::try_from(tls)?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(self.transport());
        Ok(config)
    }

    async fn receive(&self) -> Result<&'static str, String> {
        let at = SocketAddr::new(
            Ipv6Addr::UNSPECIFIED.into(),
            self.number("port", 0.0) as u16,
        );
        let config = self
            .server()
            .unwrap_or_else(|e| fail(2, &format!("{}: {e}", self.text("cert"))));
        let endpoint = Endpoint::server(config, at).map_err(|e| e.to_string())?;
        let incoming = endpoint.accept().await.ok_or("no connection")?;
        let connection = incoming.await.map_err(|e| e.to_string())?;
        *self.connection.lock().unwrap() = Some(connection.clone());
        *self.endpoint.lock().unwrap() = Some(endpoint);
        let mut stream = connection.accept_uni().await.map_err(|e| e.to_string())?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match stream.read(&mut piece).await {
                Ok(Some(n)) => self.received.fetch_add(n as u64, Ordering::Relaxed),
                Ok(None) => break,
                Err(quinn::ReadError::ConnectionLost(ConnectionError::ApplicationClosed(_))) => {
                    return Ok("reset")
                }
                Err(e) => return Err(e.to_string()),
            };
        }
        Ok("fin")
    }

    async fn run(&self) {
        let t0 = self.number("t0", 0.0);
        let mut end = self.number("until", 3600.0);
        if self.sends() {
            let start = self.number("start", 0.0);
            sleep_until(t0 + start).await;
            end = end.min(start + self.number("duration", f64::INFINITY));
        }
        let work = async {
            if self.sends() {
                self.send().await
            } else {
                self.receive().await
            }
        };
        let why = tokio::select! {
            why = work => why,
            _ = sleep_until(t0 + end) => Ok("duration"),
            _ = self.sample() => unreachable!(),
        };
        self.end(why).await;
    }

    async fn end(&self, why: Result<&'static str, String>) {
        let mut more = if self.sends() {
            self.stats()
        } else {
            json!({"bytes_received": self.received.load(Ordering::Relaxed)})
        };
        let reason = why.clone().unwrap_or("error");
        more["role"] = json!(self.text("role"));
        more["reason"] = json!(reason);
        more["complete"] = json!(
            matches!(reason, "bytes" | "fin")
                || (reason == "duration" && self.number("bytes", 0.0) == 0.0)
        );
        self.write("end", more);
        if let Some(connection) = self.connection.lock().unwrap().take() {
            connection.close(VarInt::from_u32(0), b"");
        }
        // The peer may have to be told again, but hetlab waits for us
        let endpoint = self.endpoint.lock().unwrap().take();
        if let Some(endpoint) = endpoint {
            tokio::select! {
                _ = endpoint.wait_idle() => (),
                _ = sleep_until(self.number("t0", 0.0) + self.number("until", 3600.0)) => (),
            }
        }
        if let Err(why) = why {
            fail(1, &why);
        }
    }
}

/// The lab's receivers prove nothing.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    Flow::parse().run().await
}
