//! Creates certificates for tests of TLS.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

/// The certificate of a server on the loopback interface, and of the authority that signed it.
#[derive(Debug, Clone)]
pub struct Certificates {
    /// The certificate of the authority, in DER form.
    pub authority: Vec<u8>,
    /// The certificate of the authority, in PEM form.
    pub authority_pem: String,
    /// The certificate of the server, in PEM form.
    pub certificate_pem: String,
    /// The private key of the server, in PEM form.
    pub key_pem: String,
}

impl Certificates {
    /// Makes a new authority and a certificate for `localhost` and `127.0.0.1`.
    ///
    /// # Panics
    ///
    /// Panics if the operating system has no randomness.
    pub fn generate() -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let root = authority.self_signed(&key).expect("a certificate");
        let issuer = Issuer::new(authority, key);
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let server = CertificateParams::new(names).expect("names");
        let key = KeyPair::generate().expect("a key");
        let certificate = server.signed_by(&key, &issuer).expect("a certificate");
        Certificates {
            authority: root.der().to_vec(),
            authority_pem: root.pem(),
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
        }
    }
}
