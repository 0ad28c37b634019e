//! Messages of section 3.1.1: all are valid.

use super::{Torture, case};

pub(super) const VALID: &[Torture] = &[
    case(
        "wsinv",
        "3.1.1.1",
        Ok(()),
        // Its To has a tag of no dialog here.
        481,
        "INVITE sip:vivekg@chair-dnrc.example.com;unknownparam SIP/2.0\nTO :\n \
         sip:vivekg@chair-dnrc.example.com ;   tag    = 1918181833n\nfrom   : \"J Rosenberg \\\\\\\"\"       \
         <sip:jdrosen@example.com>\n  ;\n  tag = 98asjd8\nMaX-fOrWaRdS: 0068\n\
         Call-ID: wsinv.ndaksdj@192.0.2.1\nContent-Length   : SDP\ncseq: 0009\n  INVITE\nVia  : SIP  /   2.0\n \
         /UDP\n    192.0.2.2;branch=390skdjuw\ns :\nNewFangledHeader:   newfangled value\n continued newfangled \
         value\nUnknownHeaderWithUnusualValue: ;;,,;;,;\nContent-Type: application/sdp\nRoute:\n \
         <sip:services.example.com;lr;unknownwith=value;unknown-no-value>\nv:  SIP  / 2.0  / TCP     \
         spindle.example.com   ;\n  branch  =   z9hG4bK9ikj8  ,\n SIP  /    2.0   / UDP  192.168.255.111   ; \
         branch=\n z9hG4bK30239\nm:\"Quoted string \\\"\\\"\" <sip:jdrosen@example.com> ; newparam =\n      \
         newvalue ;\n  secondparam ; q = 0.33\n\nSDP",
    ),
    case(
        "intmeth",
        "3.1.1.2",
        Ok(()),
        501,
        "!interesting-Method0123456789_*+`.%indeed'~ \
         sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*:&it+has=1,weird!*pas$wo~d_too.(doesn't-it)@example.com \
         SIP/2.0\nVia: SIP/2.0/TCP host1.example.com;branch=z9hG4bK-.!%66*_+`'~\nTo: \"BEL:\\\x07 NUL:\\\0 \
         DEL:\\\x7f\" <sip:1_unusual.URI~(to-be!sure)&isn't+it$/crazy?,/;;*@example.com>\nFrom: token1~` token2'+_ \
         token3*%!.- <sip:mundane@example.com>;fromParam''~+*_!.-%=\"работающий\";tag=_token~1'+`*%!-.\n\
         Call-ID: intmeth.word%ZK-!.*_+'@word`~)(><:\\/\"][?}{\nCSeq: 139122385 \
         !interesting-Method0123456789_*+`.%indeed'~\nMax-Forwards: 255\nextensionHeader-!.%*+_`'~:大停電\n\
         Content-Length: 0\n\n",
    ),
    case(
        "esc01",
        "3.1.1.3",
        Ok(()),
        100,
        "INVITE sip:sips%3Auser%40example.com@example.net SIP/2.0\nTo: sip:%75se%72@example.com\n\
         From: <sip:I%20have%20spaces@example.net>;tag=938\nMax-Forwards: 87\n\
         i: esc01.239409asdfakjkn23onasd0-3234\nCSeq: 234234 INVITE\n\
         Via: SIP/2.0/UDP host5.example.net;branch=z9hG4bKkdjuw\nC: application/sdp\n\
         Contact:\n  <sip:cal%6Cer@host5.example.net;%6C%72;n%61me=v%61lue%25%34%31>\nContent-Length: SDP\n\nSDP",
    ),
    case(
        "escnull",
        "3.1.1.4",
        Ok(()),
        0,
        "REGISTER sip:example.com SIP/2.0\nTo: sip:null-%00-null@example.com\n\
         From: sip:null-%00-null@example.com;tag=839923423\nMax-Forwards: 70\n\
         Call-ID: escnull.39203ndfvkjdasfkq3w4otrq0adsfdfnavd\nCSeq: 14398234 REGISTER\n\
         Via: SIP/2.0/UDP host5.example.com;branch=z9hG4bKkdjuw\nContact: <sip:%00@host5.example.com>\n\
         Contact: <sip:%00%00@host5.example.com>\nL:0\n\n",
    ),
    case(
        "esc02",
        "3.1.1.5",
        Ok(()),
        501,
        "RE%47IST%45R sip:registrar.example.com SIP/2.0\nTo: \"%Z%45\" <sip:resource@example.com>\n\
         From: \"%Z%45\" <sip:resource@example.com>;tag=f232jadfj23\n\
         Call-ID: esc02.asdfnqwo34rq23i34jrjasdcnl23nrlknsdf\n\
         Via: SIP/2.0/TCP host.example.com;branch=z9hG4bK209%fzsnel234\nCSeq: 29344 RE%47IST%45R\n\
         Max-Forwards: 70\nContact: <sip:alias1@host1.example.com>\nC%6Fntact: <sip:alias2@host2.example.com>\n\
         Contact: <sip:alias3@host3.example.com>\nl: 0\n\n",
    ),
    case(
        "lwsdisp",
        "3.1.1.6",
        Ok(()),
        200,
        "OPTIONS sip:user@example.com SIP/2.0\nTo: sip:user@example.com\n\
         From: caller<sip:caller@example.com>;tag=323\nMax-Forwards: 70\n\
         Call-ID: lwsdisp.1234abcd@funky.example.com\nCSeq: 60 OPTIONS\n\
         Via: SIP/2.0/UDP funky.example.com;branch=z9hG4bKkdjuw\nl: 0\n\n",
    ),
    case(
        "longreq",
        "3.1.1.7",
        Ok(()),
        100,
        "INVITE sip:user@example.com SIP/2.0\nTo: \"I have a user name of extremeextremeextremeextreme \
         proportion\"<sip:user@example.com:6000;unknownparam1=verylonglonglonglongvalue;longparamnamenamename=\
         shortvalue;verylonglonglongParameterNameWithNoValue>\nF: sip:amazinglylongcallernameamazinglylong@\
         example.net;tag=12982982982982982982982424;unknownheaderparamnamename=unknowheaderparamvaluevalue;\
         unknownValuelessparamnameparamname\nCall-ID: longreq.onereallyreallyreallylongcallid\n\
         CSeq: 3882340 INVITE\nUnknown-LongLong-Name: unknown-longlong-value; unknown-longlong-parameter-name = \
         unknown-longlong-parameter-value\nVia: SIP/2.0/TCP sip33.example.com\nv: SIP/2.0/TCP sip32.example.com\n\
         V: SIP/2.0/TCP sip31.example.com\nViA: SIP/2.0/TCP sip29.example.com\nV :  SIP/2.0/TCP \
         sip22.example.com\nv  : SIP/2.0/TCP sip19.example.com\nVia  : SIP/2.0/TCP sip17.example.com\n\
         Via: SIP/2.0/TCP host.example.com;received=192.0.2.5;branch=verylonglonglonglongbranchvalue\n\
         Max-Forwards: 70\nContact: <sip:amazinglylongcallernameamazinglylong@host5.example.net>\n\
         Content-Type: application/sdp\nl: SDP\n\nSDP",
    ),
    case(
        "dblreq",
        "3.1.1.8",
        Ok(()),
        0,
        "REGISTER sip:example.com SIP/2.0\nTo: sip:j.user@example.com\n\
         From: sip:j.user@example.com;tag=43251j3j324\nMax-Forwards: 8\n\
         I: dblreq.0ha0isndaksdj99sdfafnl3lk233412\nContact: sip:j.user@host.example.com\nCSeq: 8 REGISTER\n\
         Via: SIP/2.0/UDP 192.0.2.125;branch=z9hG4bKkdjuw23492\nContent-Length: 0\n\nINVITE \
         sip:joe@example.com SIP/2.0\nt: sip:joe@example.com\nCSeq: 8 INVITE\n\n",
    ),
    case(
        "semiuri",
        "3.1.1.9",
        Ok(()),
        200,
        "OPTIONS sip:user;par=u%40example.net@example.com SIP/2.0\nTo: sip:j_user@example.com\n\
         From: sip:caller@example.org;tag=33242\nMax-Forwards: 3\nCall-ID: semiuri.0ha0isndaksdj\n\
         CSeq: 8 OPTIONS\nAccept: application/sdp, application/pkcs7-mime,\n          multipart/mixed, \
         multipart/signed,\n          message/sip, message/sipfrag\n\
         Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKkdjuw\nl: 0\n\n",
    ),
    case(
        "transports",
        "3.1.1.10",
        Ok(()),
        200,
        "OPTIONS sip:user@example.com SIP/2.0\nTo: sip:user@example.com\n\
         From: <sip:caller@example.com>;tag=323\nMax-Forwards: 70\n\
         Call-ID:  transports.kijh4akdnaqjkwendsasfdj\nAccept: application/sdp\nCSeq: 60 OPTIONS\n\
         Via: SIP/2.0/UDP t1.example.com;branch=z9hG4bKkdjuw\n\
         Via: SIP/2.0/SCTP t2.example.com;branch=z9hG4bKklasjdhf\n\
         Via: SIP/2.0/TLS t3.example.com;branch=z9hG4bK2980unddj\n\
         Via: SIP/2.0/UNKNOWN t4.example.com;branch=z9hG4bKasd0f3en\n\
         Via: SIP/2.0/TCP t5.example.com;branch=z9hG4bK0a9idfnee\nl: 0\n\n",
    ),
    case(
        "mpart01",
        "3.1.1.11",
        Ok(()),
        0,
        "MESSAGE sip:kumiko@example.org SIP/2.0\nVia: SIP/2.0/UDP 127.0.0.1:5070;branch=z9hG4bK-d87543-4dade06d\n\
         Max-Forwards: 70\nRoute: <sip:127.0.0.1:5080>\nTo: <sip:kumiko@example.org>\n\
         From: <sip:fluffy@example.com>;tag=2fb0dcc9\nCall-ID: 3d9485ad0c49859b@Zmx1ZmZ5LW1hYy0xNi5sb2NhbA..\n\
         CSeq: 1 MESSAGE\nContent-Transfer-Encoding: binary\nContent-Type: multipart/mixed;boundary=7a9cbec02ceef655\n\
         Content-Length: 79\n\n--7a9cbec02ceef655\nContent-Type: text/plain\n\nHello\x01\x02\n\
         --7a9cbec02ceef655--\n",
    ),
    case(
        "unreason",
        "3.1.1.12",
        Ok(()),
        0,
        "SIP/2.0 200 = 2**3 * 5**2 но сто девяносто девять - простое\n\
         Via: SIP/2.0/UDP 192.0.2.198;branch=z9hG4bK1324923\nCall-ID: unreason.1234ksdfak3j2erwedfsASdf\n\
         CSeq: 35 INVITE\nFrom: sip:user@example.com;tag=11141343\nTo: sip:user@example.edu;tag=2229\n\
         Content-Length: SDP\nContent-Type: application/sdp\nContact: <sip:user@host198.example.com>\n\nSDP",
    ),
    case(
        "noreason",
        "3.1.1.13",
        Ok(()),
        0,
        "SIP/2.0 100 \nVia: SIP/2.0/UDP 192.0.2.105;branch=z9hG4bK2398ndaoe\n\
         Call-ID: noreason.asndj203insdf99223ndf\nCSeq: 35 INVITE\nFrom: <sip:user@example.com>;tag=39ansfi3\n\
         To: <sip:user@example.edu>;tag=902jndnke3\nContent-Length: 0\nContact: <sip:user@host105.example.com>\n\n",
    ),
];
