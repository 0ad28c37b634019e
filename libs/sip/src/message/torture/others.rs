//! Messages of sections 3.1.2 to 3.4: invalid ones, and valid ones that not everybody serves.

use super::{Torture, case};

pub(super) const OTHERS: &[Torture] = &[
    case(
        "badinv01",
        "3.1.2.1",
        Err(400),
        // Its Via cannot be read: nobody would get the response.
        0,
        "INVITE sip:user@example.com SIP/2.0\nTo: sip:j.user@example.com\n\
         From: sip:caller@example.net;tag=134161461246\nMax-Forwards: 7\n\
         Call-ID: badinv01.0ha0isndaksdjasdf3234nas\nCSeq: 8 INVITE\nVia: SIP/2.0/UDP 192.0.2.15;;,;,,\n\
         Contact: \"Joe\" <sip:joe@example.org>;;;;\nContent-Length: SDP\nContent-Type: application/sdp\n\nSDP",
    ),
    case(
        "clerr",
        "3.1.2.2",
        Err(400),
        400,
        "INVITE sip:user@example.com SIP/2.0\nMax-Forwards: 80\nTo: sip:j.user@example.com\n\
         From: sip:caller@example.net;tag=93942939o2\nContact: <sip:caller@hungry.example.net>\n\
         Call-ID: clerr.0ha0isndaksdjweiafasdk3\nCSeq: 8 INVITE\n\
         Via: SIP/2.0/UDP host5.example.com;branch=z9hG4bK-39234-23523\nContent-Type: application/sdp\n\
         Content-Length: 9999\n\nSDP",
    ),
    case(
        "ncl",
        "3.1.2.3",
        Err(400),
        400,
        "INVITE sip:user@example.com SIP/2.0\nMax-Forwards: 254\nTo: sip:j.user@example.com\n\
         From: sip:caller@example.net;tag=32394234\nCall-ID: ncl.0ha0isndaksdj2193423r542w35\n\
         CSeq: 0 INVITE\nVia: SIP/2.0/UDP 192.0.2.53;branch=z9hG4bKkdjuw\nContact: <sip:caller@example53.example.net>\n\
         Content-Type: application/sdp\nContent-Length: -999\n\nSDP",
    ),
    case(
        "scalar02",
        "3.1.2.4",
        Err(400),
        400,
        "REGISTER sip:example.com SIP/2.0\nVia: SIP/2.0/TCP host129.example.com;branch=z9hG4bK342sdfoi3\n\
         To: <sip:user@example.com>\nFrom: <sip:user@example.com>;tag=239232jh3\n\
         CSeq: 36893488147419103232 REGISTER\nCall-ID: scalar02.23o0pd9vanlq3wnrlnewofjas9ui32\n\
         Max-Forwards: 300\nExpires: 10000000000000000000\nContact: <sip:user@host129.example.com>\n  \
         ;expires=280297596632815\nContent-Length: 0\n\n",
    ),
    case(
        "scalarlg",
        "3.1.2.5",
        Err(400),
        0,
        "SIP/2.0 503 Service Unavailable\nVia: SIP/2.0/TCP host129.example.com;branch=z9hG4bKzzxdiwo34sw;\
         received=192.0.2.129\nTo: <sip:user@example.com>\nFrom: <sip:other@example.net>;tag=2easdjfejw\n\
         CSeq: 9292394834772304023312 OPTIONS\nCall-ID: scalarlg.noase0of0234hn2qofoaf0232aewf2394r\n\
         Retry-After: 949302838503028349304023988\nWarning: 1812 overture \"In Progress\"\nContent-Length: 0\n\n",
    ),
    case(
        "quotbal",
        "3.1.2.6",
        Err(400),
        400,
        "INVITE sip:user@example.com SIP/2.0\nTo: \"Mr. J. User <sip:j.user@example.com>\n\
         From: sip:caller@example.net;tag=93334\nMax-Forwards: 10\nCall-ID: quotbal.aksdj\n\
         Contact: <sip:caller@host59.example.net>\nCSeq: 8 INVITE\n\
         Via: SIP/2.0/UDP 192.0.2.59:5050;branch=z9hG4bKkdjuw39234\nContent-Type: application/sdp\n\
         Content-Length: SDP\n\nSDP",
    ),
    case(
        "ltgtruri",
        "3.1.2.7",
        Err(400),
        400,
        "INVITE <sip:user@example.com> SIP/2.0\nTo: sip:user@example.com\n\
         From: sip:caller@example.net;tag=39291\nMax-Forwards: 23\nCall-ID: ltgtruri.1@192.0.2.5\n\
         CSeq: 1 INVITE\nVia: SIP/2.0/UDP 192.0.2.5\nContact: <sip:caller@host5.example.net>\n\
         Content-Type: application/sdp\nContent-Length: SDP\n\nSDP",
    ),
    case(
        "lwsruri",
        "3.1.2.8",
        Err(400),
        400,
        "INVITE sip:user@example.com; lr SIP/2.0\nTo: sip:user@example.com;tag=3xfe-9921883-z9f\n\
         From: sip:caller@example.net;tag=231413434\nMax-Forwards: 5\n\
         Call-ID: lwsruri.asdfasdoeoi2323-asdfwrn23-asd834rk423\nCSeq: 2130706432 INVITE\n\
         Via: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKkdjuw2395\nContact: <sip:caller@host1.example.net>\n\
         Content-Length: 0\n\n",
    ),
    case(
        "lwsstart",
        "3.1.2.9",
        Err(400),
        400,
        "INVITE  sip:user@example.com  SIP/2.0\nMax-Forwards: 8\nTo: sip:user@example.com\n\
         From: sip:caller@example.net;tag=8814\nCall-ID: lwsstart.dfknq234oi243099adsdfnawe3@example.com\n\
         CSeq: 1893884 INVITE\nVia: SIP/2.0/UDP host1.example.com;branch=z9hG4bKkdjuw3923\n\
         Contact: <sip:caller@host1.example.net>\nContent-Length: 0\n\n",
    ),
    case(
        "trws",
        "3.1.2.10",
        Err(400),
        400,
        "OPTIONS sip:remote-target@example.com SIP/2.0  \n\
         Via: SIP/2.0/TCP host1.example.com;branch=z9hG4bK299342093\nTo: <sip:remote-target@example.com>\n\
         From: <sip:local-resource@example.com>;tag=329429089\nCall-ID: trws.oicu34958239neffasdhr2345r\n\
         Accept: application/sdp\nCSeq: 238923 OPTIONS\nMax-Forwards: 70\nContent-Length: 0\n\n",
    ),
    case(
        "escruri",
        "3.1.2.11",
        // The header fields behind `?` are never put into anything.
        Ok(()),
        100,
        "INVITE sip:user@example.com?Route=%3Csip:example.com%3E SIP/2.0\nTo: sip:user@example.com\n\
         From: sip:caller@example.net;tag=341518\nMax-Forwards: 7\n\
         Contact: <sip:caller@host39923.example.net>\nCall-ID: escruri.23940-asdfhj-aje3br-234q098w-fawerh2q-h4n5\n\
         CSeq: 149209342 INVITE\nVia: SIP/2.0/UDP host-of-the-hour.example.com;branch=z9hG4bKkdjuw\n\
         Content-Type: application/sdp\nContent-Length: SDP\n\nSDP",
    ),
    case(
        "baddate",
        "3.1.2.12",
        // Date is not looked at.
        Ok(()),
        100,
        "INVITE sip:user@example.com SIP/2.0\nTo: sip:user@example.com\n\
         From: sip:caller@example.net;tag=2234923\nMax-Forwards: 70\n\
         Call-ID: baddate.239423mnsadf3j23lj42--sedfnm234\nCSeq: 1392934 INVITE\n\
         Via: SIP/2.0/UDP host.example.com;branch=z9hG4bKkdjuw\nDate: Fri, 01 Jan 2010 16:00:00 EST\n\
         Contact: <sip:caller@host5.example.net>\nContent-Type: application/sdp\nContent-Length: SDP\n\nSDP",
    ),
    case(
        "regbadct",
        "3.1.2.13",
        // The Contact is the registrar's to refuse.
        Err(400),
        0,
        "REGISTER sip:example.com SIP/2.0\nTo: sip:user@example.com\nFrom: sip:user@example.com;tag=998332\n\
         Max-Forwards: 70\nCall-ID: regbadct.k345asrl3fdbv@10.0.0.1\nCSeq: 1 REGISTER\n\
         Via: SIP/2.0/UDP 135.180.130.133:5060;branch=z9hG4bKkdjuw\n\
         Contact: sip:user@example.com?Route=%3Csip:sip.example.com%3E\nl: 0\n\n",
    ),
    case(
        "badaspec",
        "3.1.2.14",
        // Blanks inside of the brackets leave no doubt.
        Ok(()),
        200,
        "OPTIONS sip:user@example.org SIP/2.0\nVia: SIP/2.0/UDP host4.example.com:5060;branch=z9hG4bKkdju43234\n\
         Max-Forwards: 70\nFrom: \"Bell, Alexander\" <sip:a.g.bell@example.com>;tag=433423\n\
         To: \"Watson, Thomas\" < sip:t.watson@example.org >\nCall-ID: badaspec.sdf0234n2nds0a099u23h3hnnw009cdkne3\n\
         Accept: application/sdp\nCSeq: 3923239 OPTIONS\nl: 0\n\n",
    ),
    case(
        "baddn",
        "3.1.2.15",
        Err(400),
        400,
        "OPTIONS sip:t.watson@example.org SIP/2.0\nVia: SIP/2.0/UDP c.example.com:5060;branch=z9hG4bKkdjuw\n\
         Max-Forwards: 70\nFrom: Bell, Alexander <sip:a.g.bell@example.com>;tag=43\n\
         To: Watson, Thomas <sip:t.watson@example.org>\nCall-ID: baddn.31415@c.example.com\n\
         Accept: application/sdp\nCSeq: 3923239 OPTIONS\nl: 0\n\n",
    ),
    case(
        "badvers",
        "3.1.2.16",
        Err(505),
        // Its Via is of that version too: nobody would get the response.
        0,
        "OPTIONS sip:t.watson@example.org SIP/7.0\nVia: SIP/7.0/UDP c.example.com;branch=z9hG4bKkdjuw\n\
         Max-Forwards: 70\nFrom: A. Bell <sip:a.g.bell@example.com>;tag=qweoiqpe\n\
         To: T. Watson <sip:t.watson@example.org>\nCall-ID: badvers.31417@c.example.com\nCSeq: 1 OPTIONS\nl: 0\n\n",
    ),
    case(
        "mismatch01",
        "3.1.2.17",
        Err(400),
        400,
        "OPTIONS sip:user@example.com SIP/2.0\nTo: sip:j.user@example.com\n\
         From: sip:caller@example.net;tag=34525\nMax-Forwards: 6\nCall-ID: mismatch01.dj0234sxdfl3\n\
         CSeq: 8 INVITE\nVia: SIP/2.0/UDP host.example.com;branch=z9hG4bKkdjuw\nl: 0\n\n",
    ),
    case(
        "mismatch02",
        "3.1.2.18",
        Err(400),
        400,
        "NEWMETHOD sip:user@example.com SIP/2.0\nTo: sip:j.user@example.com\n\
         From: sip:caller@example.net;tag=34525\nMax-Forwards: 6\nCall-ID: mismatch02.dj0234sxdfl3\n\
         CSeq: 8 INVITE\nContact: <sip:caller@host.example.net>\n\
         Via: SIP/2.0/UDP host.example.net;branch=z9hG4bKkdjuw\nContent-Type: application/sdp\nl: SDP\n\nSDP",
    ),
    case(
        "bigcode",
        "3.1.2.19",
        Err(400),
        0,
        "SIP/2.0 4294967301 better not break the receiver\n\
         Via: SIP/2.0/UDP 192.0.2.105;branch=z9hG4bK2398ndaoe\nCall-ID: bigcode.asdof3uj203asdnf3429uasdhfas3ehjasdfas9i\n\
         CSeq: 353494 INVITE\nFrom: <sip:user@example.com>;tag=39ansfi3\nTo: <sip:user@example.edu>;tag=902jndnke3\n\
         Content-Length: 0\nContact: <sip:user@host105.example.com>\n\n",
    ),
    case(
        "badbranch",
        "3.2.1",
        // The branch is no identity: the transaction is found as RFC 2543 has it.
        Ok(()),
        200,
        "OPTIONS sip:user@example.com SIP/2.0\nTo: sip:user@example.com\n\
         From: sip:caller@example.org;tag=33242\nMax-Forwards: 3\nVia: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK\n\
         Accept: application/sdp\nCall-ID: badbranch.sadonfo23i420jv0as0derf3j3n\nCSeq: 8 OPTIONS\nl: 0\n\n",
    ),
    case(
        "insuf",
        "3.3.1",
        Err(400),
        400,
        "INVITE sip:user@example.com SIP/2.0\nCSeq: 193942 INVITE\n\
         Via: SIP/2.0/UDP 192.0.2.95;branch=z9hG4bKkdj.insuf\nContent-Type: application/sdp\nl: SDP\n\nSDP",
    ),
    case(
        "unkscm",
        "3.3.2",
        Ok(()),
        416,
        "OPTIONS nobodyKnowsThisScheme:totallyopaquecontent SIP/2.0\nTo: sip:user@example.com\n\
         From: sip:caller@example.net;tag=384\nMax-Forwards: 3\nCall-ID: unkscm.nasdfasser0q239nwsdfasdkl34\n\
         CSeq: 3923423 OPTIONS\nVia: SIP/2.0/TCP host9.example.com;branch=z9hG4bKkdjuw39234\nContent-Length: 0\n\n",
    ),
    case(
        "novelsc",
        "3.3.3",
        Ok(()),
        416,
        "OPTIONS soap.beep://192.0.2.103:3002 SIP/2.0\nTo: sip:user@example.com\n\
         From: sip:caller@example.net;tag=384\nMax-Forwards: 3\nCall-ID: novelsc.asdfasser0q239nwsdfasdkl34\n\
         CSeq: 3923423 OPTIONS\nVia: SIP/2.0/TCP host9.example.com;branch=z9hG4bKkdjuw39234\nContent-Length: 0\n\n",
    ),
    case(
        "unksm2",
        "3.3.4",
        Ok(()),
        0,
        "REGISTER sip:example.com SIP/2.0\nTo: isbn:2983792873\nFrom: <http://www.example.com>;tag=3234233\n\
         Call-ID: unksm2.daksdj@hyphenated-host.example.com\nCSeq: 234902 REGISTER\nMax-Forwards: 70\n\
         Via: SIP/2.0/UDP 192.0.2.21:5060;branch=z9hG4bKkdjuw\nContact: <name:John_Smith>\nl: 0\n\n",
    ),
    case(
        "bext01",
        "3.3.5",
        Ok(()),
        420,
        "OPTIONS sip:user@example.com SIP/2.0\nTo: sip:j_user@example.com\n\
         From: sip:caller@example.net;tag=242etr\nMax-Forwards: 6\nCall-ID: bext01.0ha0isndaksdj\n\
         Require: nothingSupportsThis, nothingSupportsThisEither\n\
         Proxy-Require: noProxiesSupportThis, norDoAnyProxiesSupportThis\nCSeq: 8 OPTIONS\n\
         Via: SIP/2.0/TLS fold-and-staple.example.com;branch=z9hG4bKkdjuw\nContent-Length: 0\n\n",
    ),
    case(
        "invut",
        "3.3.6",
        Ok(()),
        415,
        "INVITE sip:user@example.com SIP/2.0\nContact: <sip:caller@host5.example.net>\n\
         To: sip:j.user@example.com\nFrom: sip:caller@example.net;tag=8392034\nMax-Forwards: 70\n\
         Call-ID: invut.0ha0isndaksdjadsfij34n23d\nCSeq: 235448 INVITE\n\
         Via: SIP/2.0/UDP somehost.example.com;branch=z9hG4bKkdjuw\nContent-Type: application/unknownformat\n\
         Content-Length: 40\n\n<audio>\n <pcmu port=\"443\"/>\n</audio>\n    ",
    ),
    case(
        "regaut01",
        "3.3.7",
        Ok(()),
        0,
        "REGISTER sip:example.com SIP/2.0\nTo: sip:j.user@example.com\n\
         From: sip:j.user@example.com;tag=87321hj23128\nMax-Forwards: 8\nCall-ID: regaut01.0ha0isndaksdj\n\
         CSeq: 9338 REGISTER\nVia: SIP/2.0/TCP 192.0.2.253;branch=z9hG4bKkdjuw\n\
         Authorization: NoOneKnowsThisScheme opaque-data=here\nContent-Length:0\n\n",
    ),
    case(
        "multi01",
        "3.3.8",
        Err(400),
        400,
        "INVITE sip:user@company.com SIP/2.0\nContact: <sip:caller@host25.example.net>\n\
         Via: SIP/2.0/UDP 192.0.2.25;branch=z9hG4bKkdjuw\nMax-Forwards: 70\nCSeq: 5 INVITE\n\
         Call-ID: multi01.98asdh@192.0.2.1\nCSeq: 59 INVITE\nCall-ID: multi01.98asdh@192.0.2.2\n\
         From: sip:caller@example.com;tag=3413415\nTo: sip:user@example.com\nTo: sip:other@example.net\n\
         From: sip:caller@example.net;tag=2923420123\nContent-Type: application/sdp\nl: SDP\n\
         Contact: <sip:caller@host36.example.net>\nMax-Forwards: 5\n\nSDP",
    ),
    case(
        "mcl01",
        "3.3.9",
        Err(400),
        400,
        "OPTIONS sip:user@example.com SIP/2.0\nVia: SIP/2.0/UDP host5.example.net;branch=z9hG4bK293423\n\
         To: sip:user@example.com\nFrom: sip:other@example.net;tag=3923942\nCall-ID: mcl01.fhn2323orihawfdoa3o4r52o3irsdf\n\
         CSeq: 15932 OPTIONS\nContent-Length: 13\nMax-Forwards: 60\nContent-Length: 5\nContent-Type: text/plain\n\n\
         There's no way to know how many octets are supposed to be here.\n",
    ),
    case(
        "bcast",
        "3.3.10",
        // Two Vias: the user agent drops it.
        Ok(()),
        0,
        "SIP/2.0 200 OK\nVia: SIP/2.0/UDP 192.0.2.198;branch=z9hG4bK1324923\n\
         Via: SIP/2.0/UDP 255.255.255.255;branch=z9hG4bK1saber23\nCall-ID: bcast.0384840201234ksdfak3j2erwedfsASdf\n\
         CSeq: 35 INVITE\nFrom: sip:user@example.com;tag=11141343\nTo: sip:user@example.edu;tag=2229\n\
         Content-Length: SDP\nContent-Type: application/sdp\nContact: <sip:user@host28.example.com>\n\nSDP",
    ),
    case(
        "zeromf",
        "3.3.11",
        Ok(()),
        200,
        "OPTIONS sip:user@example.com SIP/2.0\nTo: sip:user@example.com\n\
         From: sip:caller@example.net;tag=3ghsd41\nCall-ID: zeromf.jfasdlfnm2o2l43r5u0asdfas\n\
         CSeq: 39234321 OPTIONS\nVia: SIP/2.0/UDP host1.example.com;branch=z9hG4bKkdjuw2349i\nMax-Forwards: 0\n\
         Content-Length: 0\n\n",
    ),
    case(
        "cparam01",
        "3.3.12",
        Ok(()),
        0,
        "REGISTER sip:example.com SIP/2.0\nVia: SIP/2.0/UDP saturn.example.com:5060;branch=z9hG4bKkdjuw\n\
         Max-Forwards: 70\nFrom: sip:watson@example.com;tag=DkfVgjkrtMwaerKKpe\nTo: sip:watson@example.com\n\
         Call-ID: cparam01.70710@saturn.example.com\nCSeq: 2 REGISTER\n\
         Contact: sip:+19725552222@gw1.example.net;unknownparam\nl: 0\n\n",
    ),
    case(
        "cparam02",
        "3.3.13",
        Ok(()),
        0,
        "REGISTER sip:example.com SIP/2.0\nVia: SIP/2.0/UDP saturn.example.com:5060;branch=z9hG4bKkdjuw\n\
         Max-Forwards: 70\nFrom: sip:watson@example.com;tag=838293\nTo: sip:watson@example.com\n\
         Call-ID: cparam02.70710@saturn.example.com\nCSeq: 3 REGISTER\n\
         Contact: <sip:+19725552222@gw1.example.net;unknownparam>\nl: 0\n\n",
    ),
    case(
        "regescrt",
        "3.3.14",
        Ok(()),
        0,
        "REGISTER sip:example.com SIP/2.0\nTo: sip:user@example.com\nFrom: sip:user@example.com;tag=8\n\
         Max-Forwards: 70\nCall-ID: regescrt.k345asrl3fdbv@192.0.2.1\nCSeq: 14398234 REGISTER\n\
         Via: SIP/2.0/UDP host5.example.com;branch=z9hG4bKkdjuw\nM: <sip:user@example.com?Route=%3Csip:sip.example.com%3E>\n\
         L:0\n\n",
    ),
    case(
        "sdp01",
        "3.3.15",
        // Whoever answers the call writes no body that Accept does not name.
        Ok(()),
        100,
        "INVITE sip:user@example.com SIP/2.0\nTo: sip:j_user@example.com\nContact: <sip:caller@host15.example.net>\n\
         From: sip:caller@example.net;tag=234\nMax-Forwards: 5\nCall-ID: sdp01.ndaksdj9342dasdd\n\
         Accept: text/nobodyKnowsThis\nCSeq: 8 INVITE\nVia: SIP/2.0/UDP 192.0.2.15;branch=z9hG4bKkdjuw\n\
         Content-Length: SDP\nContent-Type: application/sdp\n\nSDP",
    ),
    case(
        "inv2543",
        "3.4.1",
        // No Contact: there is nobody to end the call with.
        Ok(()),
        400,
        "INVITE sip:UserB@example.com SIP/2.0\nVia: SIP/2.0/UDP iftgw.example.com\n\
         From: <sip:+13035551111@ift.client.example.net;user=phone>\n\
         Record-Route: <sip:UserB@example.com;maddr=ss1.example.com>\n\
         To: sip:+16505552222@ss1.example.net;user=phone\nCall-ID: inv2543.1717@ift.client.example.com\n\
         CSeq: 56 INVITE\nContent-Type: application/sdp\n\nSDP",
    ),
];
